"""Rule words of the languages of Europe."""

from context_compression.evidence.rule_words.language import Language

GERMANIC = (
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

ROMANCE = (
    Language(
        "Spanish",
        sure="a partir de (?:ahora|hoy|este momento|aquí|aqui)|de ahora en adelante|en adelante"
        r"|de aquí en adelante|desde (?:ahora|hoy)|en lo sucesivo|bajo ning(?:ún|una) \w+"
        "|de ninguna manera|en ning(?:ún|una) (?:caso|momento|circunstancia)|por nada del mundo"
        "|sin excepci(?:ón|ones)|pase lo que pase"
        "|(?:está|están|queda|quedan) (?:estrictamente |terminantemente )?prohibid[oa]s?"
        "|prohibido|es obligatorio"
        "|(?:no|nunca|jamás|solo|sólo|siempre) (?:se )?(?:debe|deben|debes|debéis|puede|puedes"
        "|pueden|hay que|tienes que)"
        "|(?:debe|deben|debes|hay que|tiene que|tienes que|tienen que) … (?:siempre|nunca|solo"
        "|sólo)|no se (?:toca|tocan|modifica|modifican|cambia|borra|usa)"
        r"|(?:nunca|jamás) (?:se|me|lo|la|los|las|le)? ?\w+(?:es|as|e|a|en|an|éis|áis)(?= (?:el|la"
        r"|los|las|lo|un|una|de|en|a|al|nada|nad\w+|ning\w+|código|archivos?|con|sin|por|tu|mi|su"
        "|este|esta|estos|estas|ese|esa|que))"
        r"|no (?:lo|la|los|las|le|me|te|se)? ?(?:\w+(?:es|as|éis|áis)|toque|cambie|modifique|borre"
        "|elimine|use|haga|edite|escriba|toquen|cambien|hagas?)(?= (?:el|la|los|las|lo|un|una|de"
        r"|en|a|al|nada|nad\w+|ning\w+|nunca|jamás|más|con|sin|por|tu|mi|su|este|esta|estos|estas"
        "|ese|esa|que|código|archivos?|directamente|carpeta|fuera|para))|no te olvides|no olvides"
        r"|asegúrate|asegúrese|sin (?:preguntar\w*|mi permiso|permiso|consultar\w*)|cada vez que"
        "|recuerda (?:que|siempre|no)|deja … (?:en paz|intact[oa]s?|como está|tal cual|sin tocar)"
        "|evita|evite|por favor,? (?:no|nunca|siempre|solo|sólo)|ni se te ocurra"
        r"|mant[ée]n(?:ga)?(?:te|se)? (?:siempre|fuera|alejad[oa]|intact\w+)",
        first="nunca|jamás|siempre|solo|sólo|solamente|únicamente|nada de|ningún|ninguna"
        "|(?:usa|use|utiliza|utilice|escribe|escriba|responde|responda|contesta|trabaja|pon|haz"
        "|añade|mantén|nombra|ejecuta|deja) … (?:siempre|solo|sólo|únicamente|exclusivamente|cada"
        "|todos|todas|en vez|en lugar)",
        maybe=r"nunca|jamás|siempre|solamente|únicamente|debe|deben|debes|debería\w*|hay que"
        r"|tienes que|tiene que|tienen que|no puedes?|no debes?|no se puede|prohibid\w+"
        r"|obligatori\w+|en vez de|en lugar de|prefiero|quiero que|necesito que|al menos"
        "|como máximo|como mínimo|es importante que",
        start="cada|tod[oa]s l[oa]s|cuando (?:hagas|escribas|termines|uses|crees|cambies)",
        asks="por favor|tú|usted|puedes|podrías|vale",
        common="el la los las de que y en un una es no se por con para del al lo como su está pero",
    ),
    Language(
        "Portuguese",
        sure="a partir de (?:agora|hoje|aqui)|daqui (?:em|para|pra) (?:diante|frente)"
        r"|de agora em diante|doravante|em hipótese alguma|sob (?:nenhuma|hipótese) \w+"
        r"|em nenhum(?:a)? \w+|de jeito nenhum|de forma alguma|sem exce(?:ção|ções|pção)"
        "|aconteça o que acontecer"
        "|(?:é|são|está|fica|ficam) (?:estritamente |expressamente )?(?:proibid|obrigatóri"
        "|vedad)[oa]s?"
        "|(?:não|nunca|jamais|só|somente|sempre) (?:se )?(?:deve|devem|deves|pode|podem|podes)"
        "|(?:deve|devem|deves|tem que|têm que|tem de|tens de) … (?:sempre|nunca|só|somente"
        "|apenas)"
        "|não (?:se )?(?:mexa|mexas|mexe|toque|toques|altere|alteres|mude|mudes|apague|apagues"
        "|use|uses|modifique|modifiques|remova|removas|faça|faças|escreva|escrevas|crie|cries"
        "|edite|edites|delete|coloque|adicione|instale|execute|rode|suba|envie|commite|comite"
        "|esqueça|esqueças|deixe|substitua|quebre|renomeie|mencione|responda|traduza|invente|pule"
        r"|\w+(?:es|as|em|am)(?= (?:o|a|os|as|um|uma|nada|no|na|nos|nas|em|ao|à|este|esta|esse"
        "|essa|código|arquivos?)))"
        r"|nunca (?:mais )?(?:\w+(?:a|e|as|es|em|am))(?= (?:o|a|os|as|um|uma|nada|no|na|nos|nas|em"
        "|ao|à|do|da|de|este|esta|esse|essa|código|arquivos?|com|sem|diretamente|meu|minha))"
        r"|certifi(?:que|ca)-(?:se|te)|garanta que|assegur\w+-(?:se|te)"
        "|sem (?:me perguntar|perguntar|minha|permissão)|toda vez que|sempre que"
        "|lembr(?:e|a)-(?:se|te)|deix[ae] … (?:em paz|intact[oa]s?|como está)|evite|evita"
        r"|por favor,? (?:não|nunca|sempre|só|apenas)|mantenha … (?:sempre|intact\w+)",
        first="nunca|jamais|sempre|só|somente|apenas|unicamente|nada de|nenhum|nenhuma"
        "|(?:use|usa|utilize|escreva|escreve|responda|responde|trabalhe|coloque|faça|faz|mantenha"
        "|rode|nomeie|deixe) … (?:sempre|só|somente|apenas|exclusivamente|cada|todos|todas|em vez"
        "|ao invés)",
        maybe=r"não \w+[ae](?= (?:o|a|os|as|no|na|em|nada|um|uma))|nunca|jamais|sempre|somente"
        r"|apenas|deve|devem|deves|deveria\w*|tem que|têm que|tem de|é preciso|precisa|não pode"
        r"|não deve|proibid\w+|obrigatóri\w+|em vez de|ao invés de|prefiro|quero que|pelo menos"
        "|no máximo|no mínimo|é importante que",
        start="cada|tod[oa]s? [oa]s?|quando (?:você|fizer|terminar|criar|usar)",
        asks="por favor|você|tu|pode|poderia|tá",
        common="o a os as de que e em um uma é não se por com para do da no na ao como mais está",
    ),
    Language(
        "French",
        sure="à partir (?:de maintenant|d'aujourd'hui|d'ici|de ce point)"
        "|dès (?:maintenant|à présent|aujourd'hui)|dorénavant|désormais|à l'avenir|en aucun cas"
        "|sous aucun prétexte|à aucun moment|quoi qu'il arrive|sans exceptions?"
        "|en toutes circonstances"
        "|(?:est|sont|reste) (?:strictement |formellement )?(?:interdit|obligatoire|proscrit)e?s?"
        "|interdiction de|interdit de|défense de|il (?:ne )?(?:faut|faudra)"
        r"|ne … (?:jamais|surtout)|n'\w+ … jamais"
        r"|ne (?:\w+ )?(?:\w+ez|\w+e|\w+s) (?:pas|plus|rien|que|jamais|aucun\w*)"
        r"|n'\w+(?:ez|e|s|is) (?:pas|plus|rien|que|jamais|aucun\w*)|ne pas \w+(?:er|ir|re)"
        r"|ne (?:doit|doivent|dois|devez|peut|peux|pouvez|touche\w*|modifie\w*|change\w*"
        r"|supprime\w*)|(?:tu|vous) (?:dois|devez|ne dois|ne devez)|touche\w* pas|pas touche"
        r"|laisse\w* … (?:tranquille|intacte?s?|tel\w* quel\w*|en paz)|assure-toi|assurez-vous"
        r"|veille\w* à|à chaque fois"
        "|sans (?:me demander|mon accord|ma permission|demander|autorisation)|chaque fois que"
        r"|n'oublie\w* pas|souviens-toi|évite\w*"
        "|(?:doit|doivent|dois|devez) (?:toujours|impérativement|obligatoirement|uniquement"
        "|seulement|absolument)|(?:s'il (?:te|vous) plaît|stp|svp),? (?:ne|pas|toujours|jamais)"
        r"|tiens-t'en|tenez-vous-en|respecte\w* toujours",
        first="jamais|toujours|uniquement|seulement|surtout|aucune?|pas de|exclusivement"
        "|impérativement"
        "|(?:utilise|utilisez|emploie|écris|écrivez|réponds|répondez|travaille|mets|mettez|garde"
        "|gardez|conserve|nomme|lance|fais|faites) … (?:toujours|uniquement|seulement"
        "|exclusivement|chaque|partout|tous|toutes|plutôt|au lieu)",
        maybe=r"jamais|toujours|uniquement|seulement|doit|doivent|dois|devez|devrai\w+|il faut"
        r"|faut|interdit\w*|obligatoire\w*|au lieu de|plutôt que|je préfère|je veux que"
        r"|je voudrais que|au moins|au plus|au maximum|surtout pas|veuille\w*|il est important"
        "|ne … (?:pas|plus|que)",
        start="chaque|tous les|toutes les|tout (?:nouveau|commit|fichier|message|code)|quand tu"
        "|lorsque (?:tu|vous)",
        asks="s'il (?:te|vous) plaît|stp|svp|tu|vous|merci de|peux-tu|pouvez-vous|pourrais-tu",
        common="le la les de des et en un une est que qui dans pour pas du au sur avec ce il ne se",
    ),
    Language(
        "Italian",
        sure="d'ora in (?:poi|avanti)|da (?:ora|oggi|adesso) in (?:poi|avanti)|d'ora innanzi"
        "|in futuro|in nessun (?:caso|modo|momento)|per nessun motivo|in nessuna circostanza"
        r"|sotto nessun\w*|senza eccezion[ei]|assolutamente (?:no|non)"
        "|(?:è|sono|resta) (?:severamente |assolutamente )?(?:vietat|proibit|obbligatori)[oaie]?"
        "|vietato"
        "|(?:non|mai|solo|sempre) (?:si )?(?:deve|devi|devono|dovete|può|puoi|possono|bisogna)"
        "|(?:deve|devi|devono|dovete|bisogna) … (?:sempre|mai|solo|soltanto)"
        r"|non \w+(?:are|ere|ire|arlo|erlo|arla|arli|arle|ate|ete|ite|i)(?= (?:il|lo|la|i|gli|le"
        r"|l'|un|una|mai|più|nulla|niente|nessun\w*|nel|nella|nei|nelle|su|sul|in|alla|al|di|del"
        r"|codice|file|senza|questo|questa|quest[ie]))|non (?:\w+ )?(?:\w+ )?mai"
        r"|mai \w+(?:are|ere|ire)|assicurati|si assicuri|accertati"
        r"|senza (?:chieder\w*|il mio|permesso)|ogni volta che|ricordati|ricorda (?:che|di|sempre)"
        r"|non dimenticare|lascia … (?:stare|in pace|intatt\w|com'è|così)|evita|evitare|eviti"
        "|per favore,? (?:non|mai|sempre|solo)|attieniti|giù le mani|tieni … lontano",
        first="mai (?!ai|am|mult|bine|puțin|este|sunt|e|trebuie|vreau)|sempre|solo|soltanto"
        r"|solamente|unicamente|esclusivamente|nessun\w*|niente"
        "|(?:usa|usate|utilizza|scrivi|scrivete|rispondi|rispondete|lavora|metti|tieni|mantieni"
        r"|nomina|esegui|fai|lascia) … (?:sempre|solo|soltanto|esclusivamente|ogni|ovunque|tutt\w"
        "|invece)",
        maybe=r"sempre|soltanto|solamente|unicamente|deve|devi|devono|dovete|dovrebb\w+|dovresti"
        r"|bisogna|occorre|non si può|non puoi|vietat\w|obbligatori\w+|invece di|anziché"
        "|piuttosto che|preferisco|voglio che|almeno|al massimo|è importante che|non … mai",
        start=r"ogni|tutt[ei] (?:i|le|gli)|ciascun\w*|quando (?:scrivi|crei|fai|usi|modifichi)",
        asks="per favore|per piacere|ti prego|tu|lei|voi|puoi|potresti",
        common="il lo la i gli le di che e in un una è non si per con del della da al come sono ma",
    ),
    Language(
        "Romanian",
        sure="de acum (?:înainte|încolo)|începând de (?:acum|azi)|pe viitor|sub nicio formă"
        "|în niciun caz|în niciun caz|fără excepți[ei]"
        r"|(?:este|sunt|e) (?:strict )?(?:interzis|obligatori)\w*"
        r"|nu (?:trebuie|ai voie|este permis|se)|să nu|nu \w+ (?:niciodată|nimic|nicio|niciun)"
        "|niciodată (?:nu|să)|(?:trebuie|poate) … (?:mereu|întotdeauna|doar|numai)|asigură-te"
        r"|ai grijă|nu uita|de fiecare dată|lasă … (?:în pace|neatins\w*)|evită|te rog (?:nu|să)",
        first="niciodată|mereu|întotdeauna|doar|numai|exclusiv",
        maybe=r"nu \w+(?= (?:fișier\w*|folder\w*|director\w*|cod\w*|nimic|în|pe|la|din))|niciodată"
        "|mereu|întotdeauna|doar|numai|trebuie|ar trebui|interzis|obligatoriu|în loc de|cel puțin"
        "|cel mult",
        start="fiecare|toate|orice",
        asks="te rog|vă rog|tu|poți",
        common="și de la în nu a este cu pe un o că mai se din pentru sunt care ce dar",
    ),
    Language(
        "Catalan and Galician",
        sure="a partir d(?:'ara|'avui|e agora|e hoxe)|d'ara endavant|en cap cas|sota cap concepte"
        r"|sense excepció|está prohibid\w+|està prohibit"
        "|no (?:toquis|facis|canviïs|modifiquis|esborris|usis|toques|cambies)"
        r"|mai (?:no )?\w+(?:is|es)|assegura't|cada vegada que|baixo ningún",
        first="sempre|només|nunca|únicament",
        maybe="sempre|només|has de|ha de|hem de|cómpre",
        start="cada|tots els|totes les",
        asks="si us plau|sisplau|por favor|tu",
        common="el la els les de que i en un una és no es per amb del al com més són aquest",
    ),
)

SLAVIC = (
    Language(
        "Russian",
        sure="с этого (?:момента|дня|времени)|отныне|впредь|с сегодняшнего дня"
        r"|начиная с (?:этого|сегодняшн\w+|сейчас)|с (?:сего|данного) момента"
        r"|ни (?:в коем случае|при каких\w*|за что|под каким\w*)|без исключени[йя]"
        r"|в любом случае не|(?:запрещ\w+|воспрещ\w+)|нельзя|недопустимо"
        r"|(?:всегда|только|никогда не|не) (?:долж(?:ен|н\w+)|следует|нужно|надо)"
        r"|(?:долж(?:ен|н\w+)|следует|нужно|надо|необходимо|обязан\w*) … (?:всегда|только|никогда"
        r"|лишь)|никогда (?:больше )?не|не \w+(?:ай|яй|уй|юй|ей|йте|ите|йся|йтесь)"
        "|не (?:трогай|меняй|изменяй|удаляй|используй|пиши|делай|добавляй|правь|редактируй"
        "|коммить|пушь|ломай|запускай|лезь|трожь|забывай|забудь|смей|вздумай)(?:те)?|обязательно"
        "|непременно|убедись|убедитесь|следи,? чтобы|следите|каждый раз|руки прочь"
        "|без (?:моего|спроса|разрешения|согласования)"
        r"|оставь(?:те)? … (?:в покое|как есть|без изменений|нетронут\w+)|избегай(?:те)?"
        r"|держись подальше|придерживай\w+|помни(?:те)?,? (?:что|всегда)|ты (?:должен|обязан)"
        "|вы (?:должны|обязаны)|не смей",
        first="никогда|всегда|только|лишь|исключительно|никаких|никакой|не надо|не нужно"
        "|(?:пиши|используй|отвечай|делай|работай|ставь|храни|запускай|называй|оставляй|добавляй"
        r"|используйте|пишите|отвечайте|делайте) … (?:всегда|только|лишь|исключительно|кажд\w+"
        "|везде|вместо|во всех)",
        maybe=r"никогда|всегда|только|лишь|исключительно|долж(?:ен|н\w+)|следует|нужно|надо"
        r"|необходимо|запрещ\w+|вместо|лучше не|хочу,? чтобы|важно,? чтобы|не менее|не более"
        "|не надо|не нужно|просьба",
        start=r"кажд\w+|все|всякий|любо[йе]|когда (?:пишешь|делаешь|закончишь|будешь)",
        asks="пожалуйста|ты|вы|тебя|вас|можешь|можете",
        common="и в не на что я с он как это по но из у за от так о же для мы или уже если есть",
    ),
    Language(
        "Ukrainian",
        sure="відтепер|віднині|надалі|з цього (?:моменту|дня|часу)"
        "|починаючи з (?:цього|сьогодні|зараз)|ні в якому разі|у жодному (?:разі|випадку)"
        r"|в жодному (?:разі|випадку)|за жодних \w+|без винятк\w+|заборон\w+"
        "|не (?:можна|слід|треба|потрібно)|ніколи не|ніколи (?:більше )?не"
        r"|(?:повин\w+|мусить|мусиш|мають|має|треба|слід|необхідно) … (?:завжди|лише|тільки"
        r"|ніколи)|(?:завжди|тільки|лише|не) (?:повин\w+|мусить|має)"
        r"|не \w+(?:ай|яй|уй|юй|ій|йте|іть)"
        "|не (?:чіпай|міняй|змінюй|видаляй|використовуй|пиши|роби|додавай|редагуй|комить|пуш"
        "|запускай|ламай|забувай|забудь|смій)(?:те)?|обов'язково|неодмінно|переконайся"
        "|переконайтеся|стеж,? щоб|щоразу|без (?:мого|дозволу)|кожного разу"
        r"|залиш(?:те)? … (?:в спокої|як є|без змін)|уникай(?:те)?|тримайся подалі|дотримуй\w+"
        "|пам'ятай(?:те)?|ти (?:маєш|мусиш|повинен)|ви (?:маєте|мусите|повинні)",
        first=r"ніколи|завжди|тільки|лише|виключно|жодн\w+"
        "|(?:пиши|використовуй|відповідай|роби|працюй|став|зберігай|запускай|називай|пишіть"
        r"|використовуйте|відповідайте) … (?:завжди|тільки|лише|виключно|кожн\w+|скрізь|замість)",
        maybe=r"ніколи|завжди|тільки|лише|виключно|повин\w+|мусить|мусиш|треба|слід|потрібно"
        r"|необхідно|заборон\w+|замість|краще не|хочу,? щоб|важливо,? щоб|щонайменше|щонайбільше"
        "|прошу",
        start=r"кож\w+|усі|всі|будь-як\w+|коли (?:пишеш|робиш|закінчиш)",
        asks="будь ласка|прошу|ти|ви|можеш|можете",
        common="і в не на що я з він як це по але із у за від так про та для ми або вже якщо є й",
    ),
    Language(
        "Belarusian",
        sure=r"з гэтага (?:моманту|часу|дня)|адгэтуль|надалей|ні ў якім разе|забаронен\w+"
        r"|ніколі не|нельга|не \w+(?:ай|яй|уй|йце)|абавязкова",
        first="ніколі|заўсёды|толькі|выключна",
        maybe=r"ніколі|заўсёды|толькі|павін\w+|трэба|неабходна",
        start=r"кожн\w+",
        asks="калі ласка|ты|вы",
        common="і ў не на што я з ён як гэта па але за ад так для мы або ўжо калі ёсць",
    ),
    Language(
        "Polish",
        sure="od (?:teraz|tej (?:pory|chwili)|dziś|dzisiaj|zaraz)|odtąd|na przyszłość"
        "|w przyszłości|pod żadnym pozorem|w żadnym (?:wypadku|razie)|absolutnie nie"
        r"|bez wyjątk\w+|(?:jest|są) (?:surowo )?(?:zabronion|zakazan|obowiązkow)\w+|zabrania się"
        r"|nie wolno|nie należy|nie można|nigdy (?:więcej )?nie|nigdy \w+aj"
        "|(?:musi|muszą|musisz|powinien|powinna|powinny|należy|ma|mają|masz) … (?:zawsze|nigdy"
        r"|tylko|wyłącznie)|(?:zawsze|tylko|nie) (?:musi|muszą|powin\w+)"
        r"|nie (?:\w+aj|\w+uj|\w+cie)(?:cie)?"
        "|nie (?:rób|pisz|zmieniaj|ruszaj|dotykaj|używaj|usuwaj|kasuj|twórz|wrzucaj|commituj"
        "|pushuj|edytuj|dodawaj|wchodź|zapomnij|waż się|dawaj|psuj)(?:cie)?|koniecznie"
        "|bezwzględnie|upewnij się|upewnijcie|pamiętaj,? (?:żeby|aby|by|że|o)|za każdym razem"
        r"|zostaw … (?:w spokoju|bez zmian|jak jest|nietknięt\w+)|unikaj\w*"
        r"|trzymaj się (?:z dala|z daleka|od|zasad\w*)|ręce precz|bez (?:pytania|mojej)"
        "|masz (?:obowiązek|zakaz)|proszę (?:nie|nigdy|zawsze|tylko|o nie)",
        first=r"nigdy|zawsze|tylko|wyłącznie|jedynie|żadn\w+"
        "|(?:pisz|używaj|odpowiadaj|rób|pracuj|trzymaj|uruchamiaj|nazywaj|zostaw|dodawaj|stosuj"
        r"|korzystaj|piszcie|używajcie) … (?:zawsze|tylko|wyłącznie|każd\w+|wszędzie|zamiast)",
        maybe=r"nigdy|zawsze|tylko|wyłącznie|jedynie|musi|muszą|musisz|powinien|powinn\w+|należy"
        r"|trzeba|zabronion\w+|zakaz\w*|zamiast|lepiej nie|chcę,? (?:żeby|aby)"
        "|ważne,? (?:żeby|aby)|co najmniej|co najwyżej",
        start=r"każd\w+|wszystkie|wszelkie|kiedy (?:piszesz|robisz|skończysz)",
        asks="proszę|ty|pan|pani|możesz|możecie|czy mógłbyś",
        common="i w nie na że się z do to jest jak po ale za od tak o dla czy już są ten co lub",
    ),
    Language(
        "Czech and Slovak",
        sure="od (?:teď|nynějška|teraz|této chvíle|tejto chvíle|dneška|dnes|tohoto okamžiku)"
        "|nadále|nabudúce|napříště|v budúcnosti|odteraz|za žádných okolností"
        "|za žiadnych okolností|v žádném případě|v žiadnom prípade|bez výjimky|bez výnimky"
        r"|rozhodně ne\w+|(?:je|jsou|sú) (?:přísně |prísne )?(?:zakázán|zakázan|povinn)\w+"
        r"|nesm(?:í|íš|íte|ie|ieš|iete|ějí|ú)|nikdy (?:už |viac )?ne\w+"
        "|(?:musí|musíš|musíte|musia|má|mají|máš|majú|smí|smíš|smie) … (?:vždy|vždycky|nikdy|jen"
        "|pouze|iba|len)"
        "|ne(?:sahej|měň|meň|maž|používej|používaj|piš|dělej|rob|přidávej|pridávaj|upravuj"
        "|commituj|pushuj|dotýkej|dotýkaj|spouštěj|spúšťaj|zapomeň|zabudni|zapomínej|odstraňuj"
        "|mazej|mažte|mažte|chytej|chytaj|instaluj|inštaluj|přepisuj|prepisuj|vytvářej|hýbej"
        "|siahaj)(?:te)?|ujisti se|uisti sa|dbej,? aby|dávej pozor|dávaj pozor|pokaždé|zakaždým"
        r"|pamatuj|pamätaj|nech(?:ej|te|aj)? … (?:být|na pokoji|tak|beze změny|nedotčen\w+)"
        r"|vyhni se|vyhýbej se|vyhni sa|drž se|drž sa|ruce pryč|prosím (?:ne\w+|vždy|nikdy)"
        "|bezpodmínečně|bezpodmienečne",
        first=r"nikdy|vždy|vždycky|jen|jenom|pouze|výhradně|výhradne|iba|žádn\w+|žiadn\w+"
        "|(?:piš|používej|používaj|odpovídej|odpovedaj|dělej|rob|pracuj|spouštěj|pojmenuj|nech"
        r"|drž) … (?:vždy|jen|pouze|iba|len|každ\w+|všude|všade|místo|namiesto)",
        maybe="nikdy|vždy|vždycky|pouze|jenom|výhradně|iba|musí|musíš|musíte|musia|měl by|měly by"
        r"|mal by|mali by|třeba|treba|nutno|zakázán\w*|zakázan\w+|místo|namísto|namiesto"
        r"|chci,? aby|chcem,? aby|raději ne\w*|radšej ne\w*|alespoň|aspoň|nejvýše|najviac",
        start=r"každ\w+|všechn\w+|všetk\w+|když (?:píšeš|děláš)",
        asks="prosím|ty|vy|můžeš|můžete|môžeš|mohl bys",
        common="a v se na že je to s do jak ale za od tak o pro už jsou ten co nebo sa ako pre sú "
        "aj",
    ),
    Language(
        "Bulgarian and Macedonian",
        sure="отсега (?:нататък|натаму)|от сега (?:нататък|натаму)|занапред|от този момент"
        r"|в никакъв случай|во никој случај|при никакви \w+|без изключени[ея]"
        r"|(?:строго )?(?:е |са )?забранен\w+|никога не|никогаш не"
        "|не (?:пипай|променяй|трий|изтривай|използвай|прави|пиши|добавяй|редактирай|комитвай"
        "|забравяй|чепкај|менувај|бриши|користи|допирай|докосвай|пускай)(?:те)?|не бива|не трябва"
        "|(?:трябва|мора|може) … (?:винаги|само|никога|секогаш)"
        "|(?:винаги|секогаш|само) (?:трябва|мора)|увери се|погрижи се|всеки път|секој пат"
        r"|остави … (?:на мира|както|непроменен\w*)|избягвай(?:те)?|избегнувај|задължително"
        "|непременно|да не",
        first="никога|винаги|само|единствено|никогаш|секогаш|никакви|никаква",
        maybe=r"никога|винаги|само|единствено|трябва|мора|никогаш|секогаш|забранен\w*|вместо|поне"
        "|най-много",
        start=r"всек\w+|всички|секо\w+",
        asks="моля|те моля|ти|вие|можеш",
        common="и на да се е за не от с в са по но как това което или че ще си ги му една",
    ),
    Language(
        "Serbian, Croatian, Bosnian and Slovenian",
        sure="od (?:sada|sad|danas|zdaj|ovog trenutka)(?: (?:nadalje|pa nadalje|naprej|na dalje"
        "|naprijed|napred))?|ubuduće|odsad|odsada|odslej|nikako ne|ni u kom slučaju"
        r"|ni pod kojim \w+|pod nobenim pogojem|v nobenem primeru|bez izuzetka|brez izjeme"
        r"|(?:je|su|so) (?:strogo )?(?:zabranjen|prepovedan|obavezn|obvezn)\w*"
        r"|nikad(?:a)? (?:više )?(?:ne|nemoj\w*)|nikoli (?:več )?ne|nemoj(?:te)?"
        "|ne (?:diraj|mijenjaj|menjaj|briši|koristi|piši|radi|dodaji|dodaj|uređuj|zaboravi|pipaj"
        "|spreminjaj|uporabljaj|pozabi|dotikaj|spuščaj)(?:te)?|ne sm(?:ije|iješ|e|eš|ete|ejo|iju)"
        "|(?:mora|moraš|morate|moraju|morajo|treba|sme|smije) … (?:uvijek|uvek|vedno|samo"
        r"|nikad\w*|nikoli|isključivo)|pobrini se|poskrbi|svaki put|vsakič"
        r"|ostavi … (?:na miru|kako|netaknut\w*)|pusti … (?:pri miru|na miru)|izbjegavaj\w*"
        r"|izbegavaj\w*|izogibaj se|obavezno|obvezno|од сада|убудуће|никада? не|немој(?:те)?"
        r"|не дирај|не мењај|забрањен\w*|не сме|обавезно",
        first="nikad|nikada|uvijek|uvek|vedno|samo|isključivo|izključno|nikoli|никад|никада|увек"
        "|само|искључиво",
        maybe="nikad|nikada|uvijek|uvek|vedno|isključivo|mora|moraš|moraju|morajo|treba"
        r"|zabranjen\w*|umjesto|umesto|namesto|никада?|увек|мора|морају|треба|уместо",
        start=r"svak\w+|vsak\w*|sve|сваки|свака|свако",
        asks="molim|prosim|ti|vi|možeš|lahko|молим",
        common="i u je na se da za ne su od s sa po ali kao to koji ili će pa in v so pri ki и је "
        "се",
    ),
)

OTHERS_OF_EUROPE = (
    Language(
        "Greek",
        sure="από (?:εδώ και πέρα|τώρα και στο εξής|εδώ και στο εξής|σήμερα|τώρα)|στο εξής|εφεξής"
        "|σε καμία περίπτωση|με κανέναν τρόπο|για κανέναν? λόγο|χωρίς (?:εξαίρεση|εξαιρέσεις)"
        r"|απαγορεύ\w+|δεν επιτρέπ\w+|δεν πρέπει|πρέπει … (?:πάντα|πάντοτε|μόνο|ποτέ)"
        r"|(?:πάντα|μόνο) πρέπει|μην? \w+(?:εις|ετε|άς|άτε|ξεις|σεις|ψεις|ξετε|σετε|ψετε)|μην"
        "|ποτέ (?:μην?|δεν)|να μην?|φρόντισε|βεβαιώσου|βεβαιωθείτε|σιγουρέψου|κάθε φορά"
        r"|άφησε … (?:ήσυχ\w+|όπως|ανέπαφ\w+)|άσε … (?:ήσυχ\w+|όπως)|απόφυγε|αποφύγετε|οπωσδήποτε"
        r"|υποχρεωτικ\w+|κράτα … (?:πάντα|μακριά)",
        first=r"ποτέ|πάντα|πάντοτε|μόνο|αποκλειστικά|μη|κανένα\w*|καμία|τίποτα",
        maybe=r"ποτέ|πάντα|πάντοτε|μόνο|αποκλειστικά|πρέπει|οφείλ\w+|χρειάζεται|αντί|τουλάχιστον"
        "|θέλω να|προτιμώ",
        start="κάθε|όλα τα|όλες οι|όλοι οι|όταν (?:γράφεις|κάνεις)",
        asks="παρακαλώ|εσύ|εσείς|μπορείς|μπορείτε|σε παρακαλώ",
    ),
    Language(
        "Hungarian",
        sure="mostantól|ezentúl|innentől|a jövőben|ettől kezdve|semmilyen körülmények"
        "|semmi esetre|kivétel nélkül|szigorúan tilos|tilos|soha(?:sem)? ne|sose ne"
        "|ne (?:nyúlj|módosíts|módosítsd|változtas|változtasd|töröld|törölj|használj|használd|írj"
        "|írd|tegyél|csinálj|érj|érintsd|commitolj|szerkeszd|felejtsd|futtasd|nevezd|adj|bánts"
        r"|piszkáld|\w{3,}(?:jatok|jetek|játok|sd|ld|rd|zd)(?= ))|nem szabad|nem lehet"
        "|kell … (?:mindig|csak|soha)|(?:mindig|csak|soha nem) kell|ügyelj|győződj meg"
        r"|minden alkalommal|hagyd … (?:békén|úgy|érintetlen\w*)|kerüld|feltétlenül|kötelező"
        "|kérlek,? (?:ne|mindig|csak|soha)",
        first="soha|sohasem|sose|mindig|csak|kizárólag|kizárólagosan|semmi",
        maybe="soha|sohasem|mindig|csakis|kizárólag|kell|muszáj|kötelező|helyett|inkább|legalább"
        "|legfeljebb",
        start="minden|mindegyik|összes|valahányszor",
        asks="kérlek|kérem|légy szíves|te|tudnál",
        common="a az és nem hogy is egy van ez de meg csak ha már azt vagy mint volt még el ki be",
    ),
    Language(
        "Finnish",
        sure="tästä (?:lähtien|eteenpäin|alkaen)|vastedes|jatkossa"
        "|missään (?:tapauksessa|nimessä|olosuhteissa)|poikkeuksetta"
        r"|(?:on |ovat )?(?:ehdottomasti )?kielletty\w*|älä|älkää|ei (?:saa|pidä|koskaan|ikinä)"
        "|et (?:saa|koskaan)|eivät saa|täytyy … (?:aina|vain)|pitää … (?:aina|vain)"
        "|(?:aina|vain) (?:täytyy|pitää)|varmista|muista|joka kerta"
        "|jätä … (?:rauhaan|ennalleen|koskematta)|pysy … (?:poissa|erossa)|vältä|ehdottomasti"
        "|pakollinen|pakollista|noudata",
        first="aina|vain|ainoastaan|yksinomaan|koskaan|ikinä|käytä|kirjoita|vastaa",
        maybe="aina|ainoastaan|yksinomaan|koskaan|ikinä|täytyy|pitää|pitäisi|tulee|kielletty"
        "|sijaan|vähintään|enintään",
        start=r"jokai\w+|joka|kaik\w+|kun (?:kirjoitat|teet)",
        asks="ole hyvä|kiitos|sinä|te|voitko|voisitko|pyydän",
        common="ja on ei se että en oli hän mutta ovat kun niin tai myös jos mitä ole sen olla",
    ),
    Language(
        "Estonian, Latvian and Lithuanian",
        sure="nüüdsest|edaspidi|mitte mingil juhul|ära|ärge|ei tohi|on (?:rangelt )?keelatud"
        r"|no šī brīža|turpmāk|nekādā gadījumā|nekad ne\w+|nedrīkst|aizliegts|ir aizliegts"
        "|ne(?:aiztiec|maini|dzēs|lieto|raksti)(?:iet)?|nuo šiol|nuo dabar|ateityje|jokiu būdu"
        r"|jokiais būdais|niekada ne\w+|draudžiama|negalima"
        "|ne(?:liesk|keisk|trink|naudok|rašyk)(?:ite)?",
        first="alati|ainult|mitte kunagi|kunagi|vienmēr|tikai|nekad|visada|niekada|visuomet",
        maybe="alati|ainult|peab|tuleb|vienmēr|tikai|jābūt|jālieto|obligāti|visada|niekada|privalo"
        "|turi|reikia",
        start=r"iga|kõik|katr\w+|kiekvien\w+",
        asks="palun|sina|lūdzu|tu|prašau",
        common="ja on ei see et un ir nav kas ar par uz ir yra ne kad su kaip tai bet iš",
    ),
    Language(
        "Albanian",
        sure=r"(?:që )?tani e tutje|këtej e tutje|në asnjë (?:rast|mënyrë)|kurrë mos|mos \w+"
        "|nuk duhet|nuk lejohet|(?:është )?(?:rreptësisht )?e ndaluar|pa përjashtim|sigurohu",
        first="kurrë|gjithmonë|vetëm|asnjë",
        maybe="kurrë|gjithmonë|vetëm|duhet",
        start=r"çdo|secil\w+",
        asks="të lutem|ju lutem|ti",
        common="dhe të në një për me që nuk është se i e nga si por ka do janë",
    ),
    Language(
        "Basque, Irish and Welsh",
        sure="hemendik aurrera|inoiz ez|ez (?:ukitu|aldatu|ezabatu|erabili)|debekatuta"
        "|as seo amach|ná (?:déan|hathraigh|scrios|húsáid|bain)|o hyn ymlaen|peidiwch|paid â|byth",
        first="beti|inoiz|bakarrik|i gcónaí|riamh|bob amser|dim ond",
        maybe="behar da|caithfidh|rhaid",
        common="eta da ez bat du dira agus an na is tá ar mae yn y yr ac o",
    ),
    Language(
        "Armenian and Georgian",
        sure="այսուհետ|երբեք մի|երբեք|մի՛|միշտ|արգելվում է|ამიერიდან|არასოდეს|არასდროს|ნუ"
        "|ყოველთვის|აკრძალულია|არ შეიძლება",
        first="մի|միայն|მხოლოდ",
        maybe="պետք է|միայն|უნდა|მხოლოდ",
        start="յուրաքանչյուր|ამ|ყოველი",
        asks="խնդրում|გთხოვ",
    ),
)
