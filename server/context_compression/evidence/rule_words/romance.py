"""Rule words of the Romance languages."""

from context_compression.evidence.rule_words.language import Language

LANGUAGES = (
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
