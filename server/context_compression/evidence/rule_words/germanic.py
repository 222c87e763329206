"""Rule words of the Germanic languages."""

from context_compression.evidence.rule_words.language import Language

LANGUAGES = (
    Language(
        "English",
        sure=r"from (?:now|here|today|this point|here on|now on) (?:on|in|onwards?|forwards?|out)"
        r"|(?:as )?of now,? (?:always|never|every|all|only|use|write)|going forwards?|henceforth"
        r"|under no circumstances?|(?:at|in) no (?:time|case|event) (?:may|must|should|shall|can)"
        r"|by no means (?:may|change|touch|use)|on no account|without exceptions?"
        r"|not ever|(?:is|are) (?:strictly )?(?:forbidden|prohibited|mandatory|off[- ]limits|taboo)"
        r"|(?:is|are) not (?:to be|allowed|permitted)|(?:may|shall|must) (?:not|only)"
        r"|(?:hands|keep|stay) (?:off|out of|away from|clear of)|leave … (?:alone|untouched|as is)"
        r"|leave … as (?:it|they) (?:is|are)|for the rest of (?:this|the|our) \w+"
        r"|until i (?:say|tell)|unless i (?:say|tell|ask|explicitly)|without (?:asking me|my)"
        r"|refrain from|steer clear of|take care (?:to|not)"
        r"|you (?:may|can|shall|must|need to|have to|are to|have) (?:not|never|only|always)"
        r"|as a rule|rule of thumb|standing (?:rule|order)|(?:hard|house|ground|golden) rules?"
        r"|no (?:commits?|push(?:es)?|merges?|emojis?|comments?|new dependenc\w+|force[- ]push\w*)"
        r" (?:to|on|in|at|into|without|before|unless|until|please)",
        first=r"dont|no (?:more|exceptions)|never|always|only|stick (?:to|with)|be sure to"
        r"|remember (?:to|never|not)|whenever you|(?:every|each) time you|keep (?:all|every|each|your"
        r"|any|to)|treat … as|nothing (?:may|must|should|goes)|forbidden"
        r"|(?:use|write|answer|reply|respond|speak|name|call|put|run|keep|work|stay) (?:… )?"
        r"(?:only|always|every|each|everywhere|exclusively|throughout|instead of|rather than)",
        maybe=r"must(?:n't)?|never|always|only|should(?:n't)?|make sure|ensure|avoid|prefer"
        r"|(?:do not|don't)(?! (?:\w+ly )?(?:know|think|understand|see|remember|recall|believe|mind"
        r"|care|feel)(?!\w))(?!$)|no longer|required?s?|at (?:most|least)|has to|shall|may not|keep the|you (?:cannot|can't)"
        r"|i (?:want|expect|need) (?:you|all|every|each|no|everything|nothing)|i insist|strictly"
        r"|mandatory|forbidden|prohibited|not allowed",
        asks=r"you|please",
        start=r"(?:every|each|all|any|no) (?!(?:you|i|we|it|that|this|of) )(?:\w+ ){1,4}?(?:starts?|begins?|ends?|gets?|goes|go|use"
        r"|uses|needs?|comes?|carry|carries|stays?|includes?|contains?|belongs?|lives?|may"
        r"|is (?:to|written|named|called)|are (?:to|written|named|called))",
        common="the and of to is in it that for with this not are was on you be have from at as by",
    ),
    Language(
        "German",
        sure=r"ab (?:jetzt|sofort|heute|nun|hier)|von (?:jetzt|nun|heute) an|künftig|fortan"
        r"|in zukunft|zukünftig|unter keinen umständen|auf keinen fall|auf gar keinen fall"
        r"|keinesfalls|keinesfall|ohne ausnahme|ausnahmslos|grundsätzlich|unbedingt|zwingend"
        r"|(?:darf|dürfen|darfst|dürft|soll|sollst|sollen|sollt|sollte|sollten) … "
        r"(?:nicht|nie|niemals|kein\w*|nur|immer|stets)|(?:musst|müsst) du|du (?:musst|darfst|sollst)"
        r"|ist (?:streng )?(?:verboten|untersagt|tabu|pflicht)|sind (?:verboten|untersagt|tabu)"
        r"|finger weg|lass … (?:in ruhe|unverändert|unberührt)|bleib\w* unverändert|jedes mal"
        r"|niemals|nie wieder|ohne (?:mich zu fragen|meine|rückfrage|zu fragen)|achte darauf|achten sie darauf"
        r"|stell\w* sicher|vergiss nicht|denk daran|halte? dich an|halten sie sich an|bitte … nicht"
        r"|bitte (?:nie|niemals|immer|stets|nur|kein\w*|keine)",
        first=r"nie (?:ohne|in|auf|an|im|den|die|das|dem|etwas|direkt|mit|von|zu|mehr)|immer|stets|nur|ausschließlich|bitte … (?:nur|immer|kein\w*)|kein\w*"
        r"|(?:fass|fasse|änder|ändere|lösch|lösche|benutz|benutze|verwende|nutze|schreib|schreibe"
        r"|mach|mache|nimm|rühr|rühre|committe?|pushe?|installiere?|führe?|antworte|gib|lass|füge"
        r"|entferne?|verändere?|überschreibe?|starte?|teste?|baue?|bearbeite?|öffne|ersetze?|geh"
        r"|nenne|benenne?|fassen sie|ändern sie|löschen sie|verwenden sie|schreiben sie) … "
        r"(?:nicht|nichts|nie|niemals|kein\w*|nur|immer|stets|ausschließlich|überall)",
        maybe=r"nie (?:ohne|in|auf|an|im|den|die|das|dem|etwas|direkt|mit|von|zu|mehr)|immer|stets|nur|muss|musst|müssen|müsst|soll|sollen|sollst|sollte\w*"
        r"|darf|dürfen|darfst|nicht (?:an\w*|ver\w*|lösch\w*)|kein\w*|vermeide\w*|lieber|lasst"
        r"|ausschließlich|höchstens|mindestens|statt|anstatt|verboten|pflicht|wichtig ist|ich will",
        start=r"jede\w*|alle|sämtliche|sobald du|wenn du",
        asks=r"bitte|du|sie|dich|dir|könntest|könnten",
        common="der die das und ist nicht ein eine mit auf für den dem von zu im es auch wir ich",
    ),
    Language(
        "Dutch",
        sure=r"vanaf (?:nu|heden|vandaag)|voortaan|in het vervolg|onder geen (?:enkel )?beding"
        r"|in geen geval|zonder uitzondering|(?:mag|mogen|moet|moeten|moogt|dient|dienen) … "
        r"(?:niet|nooit|geen|alleen|altijd)|(?:is|zijn) (?:strikt )?(?:verboten|verplicht|taboe)"
        r"|zonder (?:mijn|te vragen|het te vragen)|je (?:moet|mag)|jij (?:moet|mag)|u (?:moet|mag|dient)|blijf … (?:van|af|weg)|laat … "
        r"(?:met rust|ongemoeid|ongewijzigd|zoals)|zorg (?:er ?voor|dat)|let erop|denk eraan"
        r"|vergeet niet|houd je aan|hou je aan|telkens als|elke keer|afblijven"
        r"|nooit (?:aan|de|het|iets|in|op|naar|zonder)|alsjeblieft (?:niet|nooit|geen)",
        first=r"nooit|altijd|alleen|enkel|slechts|uitsluitend|geen|steeds"
        r"|(?:raak|gebruik|wijzig|verander|verwijder|schrijf|maak|doe|commit|push|pas|zet|voeg|ga"
        r"|installeer|antwoord|werk|kom|bewerk|hernoem|start|noem) … "
        r"(?:niet|nooit|geen|alleen|altijd|enkel|uitsluitend|overal)",
        maybe=r"nooit|altijd|moet|moeten|hoort|behoort|uitsluitend|vermijd|verboten"
        r"|verplicht|liever|in plaats van|alleen maar|minstens|hoogstens|ten minste|niet aanraken",
        start=r"elke?|iedere?|alle|telkens",
        asks=r"alsjeblieft|alstublieft|graag|jij|je|u|kun|kunt",
        common="de het een en van is niet dat die op te voor met zijn wordt ook naar maar deze er",
    ),
    Language(
        "Swedish",
        sure=r"från och med (?:nu|idag)|från och med|hädanefter|framöver|i fortsättningen"
        r"|under inga omständigheter|absolut inte|utan undantag|(?:får|ska|skall|bör|måste) … "
        r"(?:inte|aldrig|bara|endast|alltid|ej)|du (?:måste|får|ska)|(?:är|äro) (?:strängt )?"
        r"(?:förbjud\w+|obligatorisk\w*)|håll dig (?:borta|till|ifrån)|låt … (?:vara|stå|bli)"
        r"|rör (?:aldrig|inte|ej)|se till att|kom ihåg att|glöm inte|var noga med|varje gång"
        r"|(?:aldrig|ej) (?:i|på|till|utan|mappen|filen\w*|koden|katalogen)"
        r"|fingrarna borta|snälla (?:inte|rör)",
        first=r"aldrig|alltid|endast|bara|enbart|inga|ingen|inget|undvik"
        r"|(?:ändra|rör|ta|använd|skriv|radera|lägg|pusha|gör|kör|svara|committa|installera|flytta"
        r"|redigera|starta|håll|byt) … (?:aldrig|inte|alltid|endast|bara|inga|ingen|överallt)",
        maybe=r"aldrig|alltid|endast|måste|ska|skall|bör|får inte|undvik|förbjud\w+|i stället för"
        r"|istället för|helst|minst|högst|rör inte",
        start=r"varje|varenda|alla|när du",
        asks=r"snälla|vänligen|tack|du|kan du",
        common="och att det är som en på av för med den till inte ett har jag om så men de vi",
    ),
    Language(
        "Danish and Norwegian",
        sure=r"fra (?:og med )?(?:nu|nå)(?: af| av)?|fra i ?dag|fremover|i fremtiden|fremadrettet"
        r"|under ingen omst[æe]ndigheder|under ingen omstendigheter|uden undtagelse|uten unntak"
        r"|(?:må|skal|bør|kan) … (?:ikke|aldri|aldrig|kun|bare|altid|alltid)|du (?:må|skal)"
        r"|er (?:strengt )?(?:forbudt|påbudt|obligatorisk)|hold dig (?:fra|til|væk)|hold deg (?:unna|til)"
        r"|lad … (?:være|stå)|la … (?:være|stå)|sørg for|husk (?:at|å|altid|alltid|aldri\w?)"
        r"|glem ikke|ikke glem|hver gang|rør (?:aldri|aldrig|ikke)|vær så snill",
        first=r"aldrig|aldri|altid|alltid|ingen|undgå|unngå"
        r"|(?:ændr|endre|rør|brug|bruk|skriv|slet|slett|push|gør|gjør|kør|kjør|svar|commit|lav|lag"
        r"|installer|rediger|start|flyt|flytt) … (?:aldrig|aldri|ikke|altid|alltid|kun|bare|ingen)",
        maybe=r"aldrig|aldri|altid|alltid|skal|bør|må|undgå|unngå|forbudt|i stedet for|helst|mindst"
        r"|minst|højst|ikke rør",
        start=r"hver|hvert|alle|når du",
        asks=r"venligst|vennligst|du|kan du",
        common="og det er en at på til af av for med den ikke som der jeg har et om så men de vi",
    ),
    Language(
        "Icelandic",
        sure=r"héðan í frá|framvegis|undir engum kringumstæðum|(?:má|mátt|skal|skalt) … "
        r"(?:ekki|aldrei|aðeins|alltaf)|er (?:stranglega )?bannað",
        first=r"aldrei|alltaf|aðeins|einungis",
        maybe=r"aldrei|alltaf|verður að|skal|skalt|mátt ekki",
        common="og að er sem ekki það við með til hann hún ég þú um fyrir",
    ),
    Language(
        "Afrikaans",
        sure=r"van nou af|voortaan|onder geen omstandighede|(?:mag|moet|moenie) … (?:nie|nooit|net)"
        r"|moenie|is verbode",
        first=r"nooit|altyd|slegs",
        maybe=r"altyd|moet|mag nie|slegs",
        start=r"elke",
        asks=r"asseblief|jy",
        common="die en van is nie dat het vir met sy ek jy ons hulle wat om",
    ),
)
