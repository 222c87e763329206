"""Rule words of the Romance languages."""

from context_compression.evidence.rule_words.language import Language

LANGUAGES = (
    Language(
        "Spanish",
        sure=r"a partir de (?:ahora|hoy|este momento|aquí|aqui)|de ahora en adelante|en adelante"
        r"|de aquí en adelante|desde (?:ahora|hoy)|en lo sucesivo|bajo ning(?:ún|una) \w+"
        r"|de ninguna manera|en ning(?:ún|una) (?:caso|momento|circunstancia)|por nada del mundo"
        r"|sin excepci(?:ón|ones)|pase lo que pase|(?:está|están|queda|quedan) (?:estrictamente |"
        r"terminantemente )?prohibid[oa]s?|prohibido|es obligatorio|(?:no|nunca|jamás|solo|sólo|"
        r"siempre) (?:se )?(?:debe|deben|debes|debéis|puede|puedes|pueden|hay que|tienes que)"
        r"|(?:debe|deben|debes|hay que|tiene que|tienes que|tienen que) … (?:siempre|nunca|solo|sólo)"
        r"|no se (?:toca|tocan|modifica|modifican|cambia|borra|usa)|(?:nunca|jamás) (?:se|me|lo|la|l"
        r"os|las|le)? ?\w+(?:es|as|e|a|en|an|éis|áis)(?= (?:el|la|los|las|lo|un|una|de|en|a|al|nada"
        r"|nad\w+|ning\w+|código|archivos?|con|sin|por|tu|mi|su|este|esta|estos|estas|ese|esa|que))"
        r"|no (?:lo|la|los|las|le|me|te|se)? ?(?:\w+(?:es|as|éis|áis)|toque|cambie|modifique|borre|"
        r"elimine|use|haga|edite|escriba|toquen|cambien|hagas?)(?= (?:el|la|los|las|lo|un|una|de|en"
        r"|a|al|nada|nad\w+|ning\w+|nunca|jamás|más|con|sin|por|tu|mi|su|este|esta|estos|estas|ese|"
        r"esa|que|código|archivos?|directamente|carpeta|fuera|para))|no te olvides|no olvides"
        r"|asegúrate|asegúrese|sin (?:preguntar\w*|mi permiso|permiso|consultar\w*)|cada vez que|recuerda (?:que|siempre|no)|deja … (?:en paz|intact[oa]s?"
        r"|como está|tal cual|sin tocar)|evita|evite|por favor,? (?:no|nunca|siempre|solo|sólo)"
        r"|ni se te ocurra|mant[ée]n(?:ga)?(?:te|se)? (?:siempre|fuera|alejad[oa]|intact\w+)",
        first=r"nunca|jamás|siempre|solo|sólo|solamente|únicamente|nada de|ningún|ninguna"
        r"|(?:usa|use|utiliza|utilice|escribe|escriba|responde|responda|contesta|trabaja|pon|haz|"
        r"añade|mantén|nombra|ejecuta|deja) … (?:siempre|solo|sólo|únicamente|exclusivamente|cada|"
        r"todos|todas|en vez|en lugar)",
        maybe=r"nunca|jamás|siempre|solamente|únicamente|debe|deben|debes|debería\w*|hay que|tienes "
        r"que|tiene que|tienen que|no puedes?|no debes?|no se puede|prohibid\w+|obligatori\w+|en vez "
        r"de|en lugar de|prefiero|quiero que|necesito que|al menos|como máximo|como mínimo|es import"
        r"ante que",
        start=r"cada|tod[oa]s l[oa]s|cuando (?:hagas|escribas|termines|uses|crees|cambies)",
        asks=r"por favor|tú|usted|puedes|podrías|vale",
        common="el la los las de que y en un una es no se por con para del al lo como su está pero",
    ),
    Language(
        "Portuguese",
        sure=r"a partir de (?:agora|hoje|aqui)|daqui (?:em|para|pra) (?:diante|frente)|de agora em "
        r"diante|doravante|em hipótese alguma|sob (?:nenhuma|hipótese) \w+|em nenhum(?:a)? \w+|de "
        r"jeito nenhum|de forma alguma|sem exce(?:ção|ções|pção)|aconteça o que acontecer"
        r"|(?:é|são|está|fica|ficam) (?:estritamente |expressamente )?(?:proibid|obrigatóri|vedad)[o"
        r"a]s?|(?:não|nunca|jamais|só|somente|sempre) (?:se )?(?:deve|devem|deves|pode|podem|podes)"
        r"|(?:deve|devem|deves|tem que|têm que|tem de|tens de) … (?:sempre|nunca|só|somente|apenas)"
        r"|não (?:se )?(?:mexa|mexas|mexe|toque|toques|altere|alteres|mude|mudes|apague|apagues|use|"
        r"uses|modifique|modifiques|remova|removas|faça|faças|escreva|escrevas|crie|cries|edite|edit"
        r"es|delete|coloque|adicione|instale|execute|rode|suba|envie|commite|comite|esqueça|esqueças"
        r"|deixe|substitua|quebre|renomeie|mencione|responda|traduza|invente|pule|\w+(?:es|as|em|am)"
        r"(?= (?:o|a|os|as|um|uma|nada|no|na|nos|nas|em|ao|à|este|esta|esse|essa|código|arquivos?))"
        r")|nunca (?:mais )?(?:\w+(?:a|e|as|es|em|am))(?= (?:o|a|os|as|um|uma|nada|no|na|nos|nas|em"
        r"|ao|à|do|da|de|este|esta|esse|essa|código|arquivos?|com|sem|diretamente|meu|minha))"
        r"|certifi(?:que|ca)-(?:se|te)|garanta que|assegur\w+-(?:se|te)|sem (?:me perguntar|perguntar|minha|permissão)|toda vez que|sempre que"
        r"|lembr(?:e|a)-(?:se|te)|deix[ae] … (?:em paz|intact[oa]s?|como está)|evite|evita"
        r"|por favor,? (?:não|nunca|sempre|só|apenas)|mantenha … (?:sempre|intact\w+)",
        first=r"nunca|jamais|sempre|só|somente|apenas|unicamente|nada de|nenhum|nenhuma"
        r"|(?:use|usa|utilize|escreva|escreve|responda|responde|trabalhe|coloque|faça|faz|mantenha|"
        r"rode|nomeie|deixe) … (?:sempre|só|somente|apenas|exclusivamente|cada|todos|todas|em vez|ao"
        r" invés)",
        maybe=r"não \w+[ae](?= (?:o|a|os|as|no|na|em|nada|um|uma))|nunca|jamais|sempre|somente|apenas|deve|devem|deves|deveria\w*|tem que|têm que|tem d"
        r"e|é preciso|precisa|não pode|não deve|proibid\w+|obrigatóri\w+|em vez de|ao invés de|prefi"
        r"ro|quero que|pelo menos|no máximo|no mínimo|é importante que",
        start=r"cada|tod[oa]s? [oa]s?|quando (?:você|fizer|terminar|criar|usar)",
        asks=r"por favor|você|tu|pode|poderia|tá",
        common="o a os as de que e em um uma é não se por com para do da no na ao como mais está",
    ),
    Language(
        "French",
        sure=r"à partir (?:de maintenant|d'aujourd'hui|d'ici|de ce point)|dès (?:maintenant|à présen"
        r"t|aujourd'hui)|dorénavant|désormais|à l'avenir|en aucun cas|sous aucun prétexte|à aucun m"
        r"oment|quoi qu'il arrive|sans exceptions?|en toutes circonstances"
        r"|(?:est|sont|reste) (?:strictement |formellement )?(?:interdit|obligatoire|proscrit)e?s?"
        r"|interdiction de|interdit de|défense de|il (?:ne )?(?:faut|faudra)|ne … (?:jamais|surtout)"
        r"|n'\w+ … jamais|ne (?:\w+ )?(?:\w+ez|\w+e|\w+s) (?:pas|plus|rien|que|jamais|aucun\w*)"
        r"|n'\w+(?:ez|e|s|is) (?:pas|plus|rien|que|jamais|aucun\w*)|ne pas \w+(?:er|ir|re)"
        r"|ne (?:doit|doivent|dois|devez|peut|peux|pouvez|touche\w*|modifie\w*|change\w*|supprime\w*)"
        r"|(?:tu|vous) (?:dois|devez|ne dois|ne devez)|touche\w* pas|pas touche|laisse\w* … (?:tranqu"
        r"ille|intacte?s?|tel\w* quel\w*|en paz)|assure-toi|assurez-vous|veille\w* à|à chaque fois"
        r"|sans (?:me demander|mon accord|ma permission|demander|autorisation)|chaque fois que|n'oublie\w* pas|souviens-toi|évite\w*|(?:doit|doivent|dois|devez) (?:toujo"
        r"urs|impérativement|obligatoirement|uniquement|seulement|absolument)|(?:s'il (?:te|vous) pla"
        r"ît|stp|svp),? (?:ne|pas|toujours|jamais)|tiens-t'en|tenez-vous-en|respecte\w* toujours",
        first=r"jamais|toujours|uniquement|seulement|surtout|aucune?|pas de|exclusivement|impérativem"
        r"ent|(?:utilise|utilisez|emploie|écris|écrivez|réponds|répondez|travaille|mets|mettez|garde"
        r"|gardez|conserve|nomme|lance|fais|faites) … (?:toujours|uniquement|seulement|exclusivement"
        r"|chaque|partout|tous|toutes|plutôt|au lieu)",
        maybe=r"jamais|toujours|uniquement|seulement|doit|doivent|dois|devez|devrai\w+|il faut|faut|i"
        r"nterdit\w*|obligatoire\w*|au lieu de|plutôt que|je préfère|je veux que|je voudrais que|au "
        r"moins|au plus|au maximum|surtout pas|veuille\w*|il est important|ne … (?:pas|plus|que)",
        start=r"chaque|tous les|toutes les|tout (?:nouveau|commit|fichier|message|code)|quand tu|lors"
        r"que (?:tu|vous)",
        asks=r"s'il (?:te|vous) plaît|stp|svp|tu|vous|merci de|peux-tu|pouvez-vous|pourrais-tu",
        common="le la les de des et en un une est que qui dans pour pas du au sur avec ce il ne se",
    ),
    Language(
        "Italian",
        sure=r"d'ora in (?:poi|avanti)|da (?:ora|oggi|adesso) in (?:poi|avanti)|d'ora innanzi|in futu"
        r"ro|in nessun (?:caso|modo|momento)|per nessun motivo|in nessuna circostanza|sotto nessun\w*"
        r"|senza eccezion[ei]|assolutamente (?:no|non)|(?:è|sono|resta) (?:severamente |assolutament"
        r"e )?(?:vietat|proibit|obbligatori)[oaie]?|vietato|(?:non|mai|solo|sempre) (?:si )?(?:deve|d"
        r"evi|devono|dovete|può|puoi|possono|bisogna)|(?:deve|devi|devono|dovete|bisogna) … (?:sempr"
        r"e|mai|solo|soltanto)|non \w+(?:are|ere|ire|arlo|erlo|arla|arli|arle|ate|ete|ite|i)(?= (?:i"
        r"l|lo|la|i|gli|le|l'|un|una|mai|più|nulla|niente|nessun\w*|nel|nella|nei|nelle|su|sul|in|al"
        r"la|al|di|del|codice|file|senza|questo|questa|quest[ie]))|non (?:\w+ )?(?:\w+ )?mai|mai \w+("
        r"?:are|ere|ire)|assicurati|si assicuri|accertati|senza (?:chieder\w*|il mio|permesso)|ogni volta che|ricordati|ricorda (?:che|di"
        r"|sempre)|non dimenticare|lascia … (?:stare|in pace|intatt\w|com'è|così)|evita|evitare|evit"
        r"i|per favore,? (?:non|mai|sempre|solo)|attieniti|giù le mani|tieni … lontano",
        first=r"mai (?!ai|am|mult|bine|puțin|este|sunt|e|trebuie|vreau)|sempre|solo|soltanto|solamente|unicamente|esclusivamente|nessun\w*|niente"
        r"|(?:usa|usate|utilizza|scrivi|scrivete|rispondi|rispondete|lavora|metti|tieni|mantieni|nom"
        r"ina|esegui|fai|lascia) … (?:sempre|solo|soltanto|esclusivamente|ogni|ovunque|tutt\w|invece)",
        maybe=r"sempre|soltanto|solamente|unicamente|deve|devi|devono|dovete|dovrebb\w+|dovresti|biso"
        r"gna|occorre|non si può|non puoi|vietat\w|obbligatori\w+|invece di|anziché|piuttosto che|pr"
        r"eferisco|voglio che|almeno|al massimo|è importante che|non … mai",
        start=r"ogni|tutt[ei] (?:i|le|gli)|ciascun\w*|quando (?:scrivi|crei|fai|usi|modifichi)",
        asks=r"per favore|per piacere|ti prego|tu|lei|voi|puoi|potresti",
        common="il lo la i gli le di che e in un una è non si per con del della da al come sono ma",
    ),
    Language(
        "Romanian",
        sure=r"de acum (?:înainte|încolo)|începând de (?:acum|azi)|pe viitor|sub nicio formă|în nici"
        r"un caz|în niciun caz|fără excepți[ei]|(?:este|sunt|e) (?:strict )?(?:interzis|obligatori)\w*"
        r"|nu (?:trebuie|ai voie|este permis|se)|să nu|nu \w+ (?:niciodată|nimic|nicio|niciun)|nicio"
        r"dată (?:nu|să)|(?:trebuie|poate) … (?:mereu|întotdeauna|doar|numai)|asigură-te|ai grijă|nu"
        r" uita|de fiecare dată|lasă … (?:în pace|neatins\w*)|evită|te rog (?:nu|să)",
        first=r"niciodată|mereu|întotdeauna|doar|numai|exclusiv",
        maybe=r"nu \w+(?= (?:fișier\w*|folder\w*|director\w*|cod\w*|nimic|în|pe|la|din))|niciodată|mereu|întotdeauna|doar|numai|trebuie|ar trebui|interzis|obligatoriu|în loc "
        r"de|cel puțin|cel mult",
        start=r"fiecare|toate|orice",
        asks=r"te rog|vă rog|tu|poți",
        common="și de la în nu a este cu pe un o că mai se din pentru sunt care ce dar",
    ),
    Language(
        "Catalan and Galician",
        sure=r"a partir d(?:'ara|'avui|e agora|e hoxe)|d'ara endavant|en cap cas|sota cap concepte|se"
        r"nse excepció|está prohibid\w+|està prohibit|no (?:toquis|facis|canviïs|modifiquis|esborris|"
        r"usis|toques|cambies)|mai (?:no )?\w+(?:is|es)|assegura't|cada vegada que|baixo ningún",
        first=r"sempre|només|nunca|únicament",
        maybe=r"sempre|només|has de|ha de|hem de|cómpre",
        start=r"cada|tots els|totes les",
        asks=r"si us plau|sisplau|por favor|tu",
        common="el la els les de que i en un una és no es per amb del al com més són aquest",
    ),
)
