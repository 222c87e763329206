"""Function words: "what", "the", "did". They say how a question is asked, not what it is about.

In a conversation a question's "when" or "did" is often rarer than its nouns, so that the number of
texts with a word does not tell that it says little. Hence the table. Words of time and order, such
as "before" and "during", are not in it: they may stand in the answer.
"""

from collections.abc import Iterable

TABLE = {
    "English": """
        a about all also am an and any are as at be been but by can could d
        did didn do does doesn don each for from had has have he her him his how i if in
        into is isn it its ll long m many me more most much my no not of old on or our out re s she
        should so some t than that the their them then there these they this those to us ve was
        wasn we were what when where which who whom whose why will with would you your
        """,
    "German": """
        aber alle als am an auch auf aus bei bin bis da das dass dem den der des die dies diese
        dieser doch du durch ein eine einem einen einer er es für habe haben hat hatte ich ihr im in
        ist kann man mein mit nach nicht noch nur ob oder schon sehr sein sich sie sind so und uns
        unser von vor wann war waren warum was wegen welche welchem welchen welcher welches wem wen
        wenn wer werden weshalb wie wieso wir wird wo wofür wohin womit worden wurde wurden zu zum
        zur über
        """,
    "French": """
        a au aux avec ce ces cette combien comment dans de des donc du elle en est et eu il ils j je
        l la le les leur lequel laquelle ma mais me mes moi mon n ne nos notre nous on ont ou où par
        pas pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa se ses son sont sur t
        tu un une vos votre vous y à était été
        """,
    "Spanish": """
        a al como con cual cuando cuanto cuál cuáles cuándo cuánto cuántos cómo de del donde dónde e
        el ella ellos en era es esa ese esta este está fue ha han hay la las le lo los me mi más no
        nos o para pero por porque qué que quien quién se sin sobre son su sus también te tu un una
        y ya yo
        """,
    "Portuguese": """
        a ao aos as com como da das de do dos e ela ele em era essa esse esta este está eu foi há
        isso mais mas me meu minha na nas no nos não o onde os ou para pela pelo por porque quais
        qual quando quanto quantos que quem se sem seu sua são também um uma você é
        """,
    "Italian": """
        a al alla anche che chi ci come con cosa da dal dalla dei del della delle di dove e era gli
        ha hanno ho i il in io l la le lo ma mi nel nella non o per perché più quale quali quando
        quanto quanti questa questo se si sono su sua suo tra un una uno è
        """,
    "Dutch": """
        aan als bij dat de deze die dit door een en er had hebben heb heeft het hij hoe hoeveel ik
        in is je kan maar met mijn na naar niet nog of om ook op over te tot uit van voor waar
        waarom wanneer waren was wat we welk welke werd wie wij ze zijn zo zou
        """,
    "Russian": """
        а был была были было в вы где да для до его ее если есть же за зачем и из или их к как какая
        какие какой какую когда кто куда ли мне мы на не него но о он она они от по почему при с
        сколько так то у чего чем что чтобы это я
        """,
}
"""The function words of each language, in lower case."""
FEWEST = 2
"""A query with this many function words of one language is a question or a sentence in it; one of
them is enough if a question mark ends the query. A single "in" or "die" may be meant.
"""

_LANGUAGES = tuple(frozenset(words.split()) for words in TABLE.values())


def function_words(words: Iterable[str], *, asked: bool) -> frozenset[str]:
    """The function words among the words of a query, in lower case; of one language only.

    `function_words(["what", "is", "zebra"], asked=True)` -> `{"what", "is"}`. It is empty if the
    query seems to be no question or sentence.

    Args:
        words: of the query, in lower case.
        asked: whether a question mark ends the query.
    """
    given = frozenset(words)
    found = max((given & language for language in _LANGUAGES), key=len)
    return found if len(found) >= (1 if asked else FEWEST) else frozenset()
