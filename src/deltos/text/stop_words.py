"""Stop words from the language table.

Indexes, models and weights depend on these lists, so the benchmarks must be run again after a change.
"""

from deltos.text.language_table import stop_words

# Words removed from queries, and from the index of code and documentation. The list includes keywords of programming
# languages, which occur in almost every file.
STOP_WORDS = stop_words("en", "code")

# Words that open a question. Texts that contain these words rarely answer the question.
INTERROGATIVES = stop_words("interrogatives")
# Words removed from questions. They are rare in code and would therefore have high weights.
QUESTION_WORDS = stop_words("interrogatives", "modals", "question")
# Words removed from API queries. Unlike `QUESTION_WORDS`, they do not include `find` and `use`, which describe
# operations.
API_QUESTION_WORDS = stop_words("interrogatives", "modals", "api_question")

# Words removed from queries about observations. Observations are prose, so the list has more pronouns and no keywords
# of programming languages.
PROSE_STOP_WORDS = stop_words("en", "interrogatives", "modals", "prose")

# Verbs at the start of commit subjects. They describe the change, not the code.
CHANGE_VERBS = stop_words("change_verbs")
