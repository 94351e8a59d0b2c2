"""Stop words. Indexes, models and all weights were made with these lists: after a change, measure again."""

_FUNCTION_WORDS = frozenset(
    """a an and are as at be been being but by did do does done for from had has have if in into is it its me my no not
    of off on or our out over own she so some such than that the their them then there these they this those to too
    under up very was we were will with would you your""".split()
)
# Removed from the word index of code and documentation and from queries. Keywords occur in almost every file.
STOP_WORDS = _FUNCTION_WORDS | frozenset("nor us self return else elif end let const var def fn func".split())

# Words that open a question; the few texts that contain them are not the answers.
INTERROGATIVES = frozenset("how what where when which who why whose whom".split())
_MODALS = frozenset("can could should".split())
# Words that make a sentence a question. They are rare in code and would have a high weight: removed from queries only.
QUESTION_WORDS = INTERROGATIVES.union(
    _MODALS,
    """shall may might must does happen happens find show explain tell look need want used using use uses
    code implementation implement implements implemented implementing handle handles handled handling logic part
    defined definition responsible work works file files""".split(),
)
# The same for API queries: every result is an operation, but `find` and `use` describe its function.
API_QUESTION_WORDS = INTERROGATIVES | _MODALS | frozenset("i api endpoint operation".split())

# Removed from queries of memory, which is prose: more pronouns and fillers, and no keywords of code.
PROSE_STOP_WORDS = _FUNCTION_WORDS.union(
    INTERROGATIVES,
    _MODALS,
    """about after again all also am any anything because before both d doing don during each few having he her hers
    him his i itself just kind like likely ll m many might more most much now once only other ours re s same something
    t theirs thing through type until ve while yours""".split(),
)

# Verbs that open a commit subject; they describe the change, not the code.
CHANGE_VERBS = frozenset(
    """fix fixes fixed fixing add adds added adding make makes allow allows introduce introduces support improve
    improves refactor ensure ensures update updates expose exposes prevent avoid correct bump""".split()
)
