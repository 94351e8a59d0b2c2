"""Stop words, from the language table. Indexes, models and weights depend on these lists, so measure again after a
change.
"""

from deltos.text.language_table import stop_words

# Removed from the word index of code and documentation and from queries. Keywords occur in almost every file.
STOP_WORDS = stop_words("en", "code")

# Words that open a question; the few texts that contain them do not answer it.
INTERROGATIVES = stop_words("interrogatives")
# Words that make a sentence a question. They are rare in code and would have high weights, so queries omit them.
QUESTION_WORDS = stop_words("interrogatives", "modals", "question")
# The same for API queries, in which `find` and `use` are kept because they describe what an operation does.
API_QUESTION_WORDS = stop_words("interrogatives", "modals", "api_question")

# Removed from memory queries. Memory is prose, so the list has more pronouns and fillers, and no code keywords.
PROSE_STOP_WORDS = stop_words("en", "interrogatives", "modals", "prose")

# Verbs that open a commit subject; they describe the change, not the code.
CHANGE_VERBS = stop_words("change_verbs")
