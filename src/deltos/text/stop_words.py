"""Stop words from the language table.

Indexes, models and weights depend on these lists, so measure again after a change.
"""

from deltos.text.language_table import stop_words

# Removed from queries and the index of code and documentation. Includes keywords, which occur in almost every file.
STOP_WORDS = stop_words("en", "code")

# Words that open a question. Texts that contain them rarely answer it.
INTERROGATIVES = stop_words("interrogatives")
# Removed from questions, because they are rare in code and would have high weights.
QUESTION_WORDS = stop_words("interrogatives", "modals", "question")
# The same for API queries, which keep `find` and `use` because they describe operations.
API_QUESTION_WORDS = stop_words("interrogatives", "modals", "api_question")

# Removed from memory queries. Memory is prose, so the list has more pronouns and fillers, and no code keywords.
PROSE_STOP_WORDS = stop_words("en", "interrogatives", "modals", "prose")

# Verbs that open a commit subject and describe the change, not the code.
CHANGE_VERBS = stop_words("change_verbs")
