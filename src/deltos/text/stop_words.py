"""Stop words from the language table.

Indexes, models and weights depend on these lists, so rerun the benchmarks after a change.
"""

from deltos.text.language_table import stop_words

# Removed from queries and from the index of code and documentation. The list includes programming keywords, which occur
# in almost every file.
STOP_WORDS = stop_words("en", "code")

# Words that open a question. Texts that contain these words rarely answer the question.
INTERROGATIVES = stop_words("interrogatives")
# Removed from questions, because these words are rare in code and would have high weights.
QUESTION_WORDS = stop_words("interrogatives", "modals", "question")
# Removed from API queries. Unlike `QUESTION_WORDS`, the list omits `find` and `use`, which describe operations.
API_QUESTION_WORDS = stop_words("interrogatives", "modals", "api_question")

# Removed from memory queries. Because memory is prose, the list has more pronouns and fillers, and no code keywords.
PROSE_STOP_WORDS = stop_words("en", "interrogatives", "modals", "prose")

# Verbs that begin the subject of a commit message and describe the change, not the code.
CHANGE_VERBS = stop_words("change_verbs")
