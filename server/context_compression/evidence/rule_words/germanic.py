"""Rule words of the Germanic languages."""

from context_compression.evidence.rule_words.language import Language

LANGUAGES = (
    Language(
        "English",
        sure="from (?:now|here|today|this point|here on|now on) (?:on|in|onwards?|forwards?|out)"
        "|(?:as )?of now,? (?:always|never|every|all|only|use|write)|going forwards?|henceforth"
        "|under no circumstances?|(?:at|in) no (?:time|case|event) (?:may|must|should|shall|can)"
        "|by no means (?:may|change|touch|use)|on no account|without exceptions?|not ever"
        "|(?:is|are) (?:strictly )?(?:forbidden|prohibited|mandatory|off[- ]limits|taboo)"
        "|(?:is|are) not (?:to be|allowed|permitted)|(?:may|shall|must) (?:not|only)"
        "|(?:hands|keep|stay) (?:off|out of|away from|clear of)|leave … (?:alone|untouched|as is)"
        r"|leave … as (?:it|they) (?:is|are)|for the rest of (?:this|the|our) \w+"
        "|until i (?:say|tell)|unless i (?:say|tell|ask|explicitly)|without (?:asking me|my)"
        "|refrain from|steer clear of|take care (?:to|not)"
        "|you (?:may|can|shall|must|need to|have to|are to|have) (?:not|never|only|always)"
        "|as a rule|rule of thumb|standing (?:rule|order)|(?:hard|house|ground|golden) rules?"
        r"|no (?:commits?|push(?:es)?|merges?|emojis?|comments?|new dependenc\w+"
        r"|force[- ]push\w*) (?:to|on|in|at|into|without|before|unless|until|please)",
        first="dont|no (?:more|exceptions)|never|always|only|stick (?:to|with)|be sure to"
        "|remember (?:to|never|not)|whenever you|(?:every|each) time you"
        "|keep (?:all|every|each|your|any|to)|treat … as|nothing (?:may|must|should|goes)"
        "|forbidden"
        "|(?:use|write|answer|reply|respond|speak|name|call|put|run|keep|work|stay) (?:… )?(?:only"
        "|always|every|each|everywhere|exclusively|throughout|instead of|rather than)",
        maybe="must(?:n't)?|never|always|only|should(?:n't)?|make sure|ensure|avoid|prefer"
        r"|(?:do not|don't)(?! (?:\w+ly )?(?:know|think|understand|see|remember|recall|believe"
        r"|mind|care|feel)(?!\w))(?!$)|no longer|required?s?|at (?:most|least)|has to|shall"
        "|may not|keep the|you (?:cannot|can't)"
        "|i (?:want|expect|need) (?:you|all|every|each|no|everything|nothing)|i insist|strictly"
        "|mandatory|forbidden|prohibited|not allowed",
        start="(?:every|each|all|any|no) (?!(?:you|i|we|it|that|this"
        r"|of) )(?:\w+ ){1,4}?(?:starts?|begins?|ends?|gets?|goes|go|use|uses|needs?|comes?|carry"
        "|carries|stays?|includes?|contains?|belongs?|lives?|may|is (?:to|written|named|called)"
        "|are (?:to|written|named|called))",
        asks="you|please",
        common="the and of to is in it that for with this not are was on you be have from at as by",
    ),
    Language(
        "German",
        sure="ab (?:jetzt|sofort|heute|nun|hier)|von (?:jetzt|nun|heute) an|künftig|fortan"
        "|in zukunft|zukünftig|unter keinen umständen|auf keinen fall|auf gar keinen fall"
        "|keinesfalls|keinesfall|ohne ausnahme|ausnahmslos|grundsätzlich|unbedingt|zwingend"
        "|(?:darf|dürfen|darfst|dürft|soll|sollst|sollen|sollt|sollte|sollten) … (?:nicht|nie"
        r"|niemals|kein\w*|nur|immer|stets)|(?:musst|müsst) du|du (?:musst|darfst|sollst)"
        "|ist (?:streng )?(?:verboten|untersagt|tabu|pflicht)|sind (?:verboten|untersagt|tabu)"
        r"|finger weg|lass … (?:in ruhe|unverändert|unberührt)|bleib\w* unverändert|jedes mal"
        "|niemals|nie wieder|ohne (?:mich zu fragen|meine|rückfrage|zu fragen)|achte darauf"
        r"|achten sie darauf|stell\w* sicher|vergiss nicht|denk daran|halte? dich an"
        r"|halten sie sich an|bitte … nicht|bitte (?:nie|niemals|immer|stets|nur|kein\w*|keine)",
        first="nie (?:ohne|in|auf|an|im|den|die|das|dem|etwas|direkt|mit|von|zu|mehr)|immer|stets"
        r"|nur|ausschließlich|bitte … (?:nur|immer|kein\w*)|kein\w*"
        "|(?:fass|fasse|änder|ändere|lösch|lösche|benutz|benutze|verwende|nutze|schreib|schreibe"
        "|mach|mache|nimm|rühr|rühre|committe?|pushe?|installiere?|führe?|antworte|gib|lass|füge"
        "|entferne?|verändere?|überschreibe?|starte?|teste?|baue?|bearbeite?|öffne|ersetze?|geh"
        "|nenne|benenne?|fassen sie|ändern sie|löschen sie|verwenden sie"
        r"|schreiben sie) … (?:nicht|nichts|nie|niemals|kein\w*|nur|immer|stets|ausschließlich"
        "|überall)",
        maybe="nie (?:ohne|in|auf|an|im|den|die|das|dem|etwas|direkt|mit|von|zu|mehr)|immer|stets"
        r"|nur|muss|musst|müssen|müsst|soll|sollen|sollst|sollte\w*|darf|dürfen|darfst"
        r"|nicht (?:an\w*|ver\w*|lösch\w*)|kein\w*|vermeide\w*|lieber|lasst|ausschließlich"
        "|höchstens|mindestens|statt|anstatt|verboten|pflicht|wichtig ist|ich will",
        start=r"jede\w*|alle|sämtliche|sobald du|wenn du",
        asks="bitte|du|sie|dich|dir|könntest|könnten",
        common="der die das und ist nicht ein eine mit auf für den dem von zu im es auch wir ich",
    ),
    Language(
        "Dutch",
        sure="vanaf (?:nu|heden|vandaag)|voortaan|in het vervolg|onder geen (?:enkel )?beding"
        "|in geen geval|zonder uitzondering"
        "|(?:mag|mogen|moet|moeten|moogt|dient|dienen) … (?:niet|nooit|geen|alleen|altijd)"
        "|(?:is|zijn) (?:strikt )?(?:verboten|verplicht|taboe)"
        "|zonder (?:mijn|te vragen|het te vragen)|je (?:moet|mag)|jij (?:moet|mag)"
        "|u (?:moet|mag|dient)|blijf … (?:van|af|weg)"
        "|laat … (?:met rust|ongemoeid|ongewijzigd|zoals)|zorg (?:er ?voor|dat)|let erop"
        "|denk eraan|vergeet niet|houd je aan|hou je aan|telkens als|elke keer|afblijven"
        "|nooit (?:aan|de|het|iets|in|op|naar|zonder)|alsjeblieft (?:niet|nooit|geen)",
        first="nooit|altijd|alleen|enkel|slechts|uitsluitend|geen|steeds"
        "|(?:raak|gebruik|wijzig|verander|verwijder|schrijf|maak|doe|commit|push|pas|zet|voeg|ga"
        "|installeer|antwoord|werk|kom|bewerk|hernoem|start|noem) … (?:niet|nooit|geen|alleen"
        "|altijd|enkel|uitsluitend|overal)",
        maybe="nooit|altijd|moet|moeten|hoort|behoort|uitsluitend|vermijd|verboten|verplicht"
        "|liever|in plaats van|alleen maar|minstens|hoogstens|ten minste|niet aanraken",
        start="elke?|iedere?|alle|telkens",
        asks="alsjeblieft|alstublieft|graag|jij|je|u|kun|kunt",
        common="de het een en van is niet dat die op te voor met zijn wordt ook naar maar deze er",
    ),
    Language(
        "Swedish",
        sure="från och med (?:nu|idag)|från och med|hädanefter|framöver|i fortsättningen"
        "|under inga omständigheter|absolut inte|utan undantag"
        "|(?:får|ska|skall|bör|måste) … (?:inte|aldrig|bara|endast|alltid|ej)"
        r"|du (?:måste|får|ska)|(?:är|äro) (?:strängt )?(?:förbjud\w+|obligatorisk\w*)"
        "|håll dig (?:borta|till|ifrån)|låt … (?:vara|stå|bli)|rör (?:aldrig|inte|ej)|se till att"
        "|kom ihåg att|glöm inte|var noga med|varje gång"
        r"|(?:aldrig|ej) (?:i|på|till|utan|mappen|filen\w*|koden|katalogen)|fingrarna borta"
        "|snälla (?:inte|rör)",
        first="aldrig|alltid|endast|bara|enbart|inga|ingen|inget|undvik"
        "|(?:ändra|rör|ta|använd|skriv|radera|lägg|pusha|gör|kör|svara|committa|installera|flytta"
        "|redigera|starta|håll|byt) … (?:aldrig|inte|alltid|endast|bara|inga|ingen|överallt)",
        maybe=r"aldrig|alltid|endast|måste|ska|skall|bör|får inte|undvik|förbjud\w+|i stället för"
        "|istället för|helst|minst|högst|rör inte",
        start="varje|varenda|alla|när du",
        asks="snälla|vänligen|tack|du|kan du",
        common="och att det är som en på av för med den till inte ett har jag om så men de vi",
    ),
    Language(
        "Danish and Norwegian",
        sure="fra (?:og med )?(?:nu|nå)(?: af| av)?|fra i ?dag|fremover|i fremtiden|fremadrettet"
        "|under ingen omst[æe]ndigheder|under ingen omstendigheter|uden undtagelse|uten unntak"
        "|(?:må|skal|bør|kan) … (?:ikke|aldri|aldrig|kun|bare|altid|alltid)|du (?:må|skal)"
        "|er (?:strengt )?(?:forbudt|påbudt|obligatorisk)|hold dig (?:fra|til|væk)"
        "|hold deg (?:unna|til)|lad … (?:være|stå)|la … (?:være|stå)|sørg for"
        r"|husk (?:at|å|altid|alltid|aldri\w?)|glem ikke|ikke glem|hver gang"
        "|rør (?:aldri|aldrig|ikke)|vær så snill",
        first="aldrig|aldri|altid|alltid|ingen|undgå|unngå"
        "|(?:ændr|endre|rør|brug|bruk|skriv|slet|slett|push|gør|gjør|kør|kjør|svar|commit|lav|lag"
        "|installer|rediger|start|flyt|flytt) … (?:aldrig|aldri|ikke|altid|alltid|kun|bare|ingen)",
        maybe="aldrig|aldri|altid|alltid|skal|bør|må|undgå|unngå|forbudt|i stedet for|helst|mindst"
        "|minst|højst|ikke rør",
        start="hver|hvert|alle|når du",
        asks="venligst|vennligst|du|kan du",
        common="og det er en at på til af av for med den ikke som der jeg har et om så men de vi",
    ),
    Language(
        "Icelandic",
        sure="héðan í frá|framvegis|undir engum kringumstæðum"
        "|(?:má|mátt|skal|skalt) … (?:ekki|aldrei|aðeins|alltaf)|er (?:stranglega )?bannað",
        first="aldrei|alltaf|aðeins|einungis",
        maybe="aldrei|alltaf|verður að|skal|skalt|mátt ekki",
        common="og að er sem ekki það við með til hann hún ég þú um fyrir",
    ),
    Language(
        "Afrikaans",
        sure="van nou af|voortaan|onder geen omstandighede|(?:mag|moet|moenie) … (?:nie|nooit|net)"
        "|moenie|is verbode",
        first="nooit|altyd|slegs",
        maybe="altyd|moet|mag nie|slegs",
        start="elke",
        asks="asseblief|jy",
        common="die en van is nie dat het vir met sy ek jy ons hulle wat om",
    ),
)
