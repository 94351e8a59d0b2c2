"""Stop words, from the language table. Indexes, models and all weights were made with these lists: after a change,
measure again.
"""

from deltos.text.language_table import stop_words

# Removed from the word index of code and documentation and from queries. Keywords occur in almost every file.
STOP_WORDS = stop_words("en", "code")

# Words that open a question; the few texts that contain them are not the answers.
INTERROGATIVES = stop_words("interrogatives")
# Words that make a sentence a question. They are rare in code and would have a high weight: removed from queries only.
QUESTION_WORDS = stop_words("interrogatives", "modals", "question")
# The same for API queries: every result is an operation, but `find` and `use` describe its function.
API_QUESTION_WORDS = stop_words("interrogatives", "modals", "api_question")

# Removed from queries of memory, which is prose: more pronouns and fillers, and no keywords of code.
PROSE_STOP_WORDS = stop_words("en", "interrogatives", "modals", "prose")

# Verbs that open a commit subject; they describe the change, not the code.
CHANGE_VERBS = stop_words("change_verbs")
