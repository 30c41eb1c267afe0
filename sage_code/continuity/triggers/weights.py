"""How much each feature and cue word says for a new topic; made by `python -m training.triggers`."""

from __future__ import annotations

CONSTANT = 0.084
# In the order of `context.FEATURES`.
FEATURE_WEIGHTS = (
    0.386,  # near cosine alone
    -1.127,  # near overlap alone
    0.396,  # far overlap alone
    -1.315,  # no terms alone
    -4.213,  # near cosine
    -0.958,  # near overlap
    1.194,  # far overlap
    -0.580,  # seen
    0.948,  # no terms
    -2.608,  # file overlap
    -0.776,  # no files
    -0.637,  # user
    0.608,  # user at length
    -0.244,  # length
    0.001,  # length before
    0.259,  # length after
    -0.718,  # length usual
    0.972,  # question
    -1.112,  # question before
    -0.028,  # question after
    -0.113,  # work
    -6.705,  # near cosine in work
    -0.675,  # near overlap in work
    -1.031,  # far overlap in work
    -1.343,  # seen in work
    0.527,  # length in work
    0.299,  # length after in work
    -1.246,  # question in work
)
# Words of the message.
HERE = {
    "a": 0.38, "about": 0.20, "actually": -0.52, "after": -0.13, "again": 0.06, "all": -0.39, "alright": -0.34,
    "also": 0.04, "am": 0.36, "an": 0.07, "and": -0.10, "another": 0.65, "any": 0.50, "anything": -0.28, "are": 0.44,
    "as": 0.02, "at": -0.27, "back": -0.10, "be": 0.15, "because": -0.04, "been": 0.54, "before": 0.03, "but": -0.25,
    "by": 0.20, "can": 0.20, "change": -0.06, "could": 0.12, "did": -0.10, "different": -0.09, "do": 0.81,
    "does": -0.10, "doing": -0.16, "don't": -0.22, "done": 0.14, "else": -0.69, "ever": 0.47, "favorite": 0.75,
    "find": 1.03, "fine": 0.22, "first": 0.16, "for": 0.05, "from": 0.15, "get": 0.25, "go": 0.26, "going": 0.09,
    "good": 0.13, "got": 0.01, "great": -0.42, "had": 0.11, "happy": -0.37, "has": -0.20, "have": -0.06, "hello": 0.63,
    "help": 0.19, "her": 0.14, "here": 0.27, "hey": 0.26, "hi": 0.78, "his": 0.15, "how": 0.28, "i": 0.31, "i'd": 0.26,
    "i'll": -0.07, "i'm": 0.54, "i've": 0.11, "if": 0.08, "in": 0.20, "into": 0.23, "is": 0.29, "it": -0.24,
    "it's": -0.19, "its": 0.02, "just": -0.09, "know": 0.30, "last": 0.17, "let": -0.32, "let's": 0.13, "like": 0.37,
    "look": 0.52, "looking": 1.48, "lot": -0.21, "love": 0.24, "me": 0.52, "more": -0.10, "much": -0.10, "my": 0.46,
    "name": 0.01, "need": 0.38, "new": 0.35, "next": 0.71, "nice": 0.19, "no": -0.48, "not": -0.27, "now": -0.15,
    "of": -0.08, "off": 0.01, "oh": -0.18, "ok": -0.10, "okay": -0.23, "on": -0.01, "one": -0.47, "or": -0.24,
    "other": 0.10, "our": -0.08, "out": -0.17, "over": -0.10, "perfect": -0.34, "please": -0.22, "question": 0.73,
    "really": -0.22, "right": -0.05, "say": 0.05, "see": 0.13, "she": -0.04, "should": 0.60, "so": 0.31, "some": 0.09,
    "something": -0.09, "sorry": -0.77, "still": 0.04, "sure": -0.16, "talk": 0.06, "tell": 0.12, "than": -0.07,
    "thank": -0.91, "thanks": -0.79, "that": -0.40, "that's": -0.37, "the": 0.15, "their": -0.96, "them": -0.42,
    "then": -0.01, "there": -0.36, "there's": 0.02, "these": -0.18, "they": -0.39, "thing": -0.13, "think": -0.21,
    "this": 0.23, "those": -0.15, "to": 0.19, "today": 0.36, "too": -0.17, "try": -0.68, "two": 0.09, "up": 0.01,
    "us": -0.18, "very": -0.29, "want": 0.08, "was": 0.05, "way": -0.22, "we": 0.19, "welcome": -0.76, "well": -0.41,
    "were": -0.74, "what": 0.28, "what's": 0.58, "when": -0.05, "where": 0.35, "which": 0.08, "while": 0.05,
    "who": 0.09, "why": 0.27, "will": -0.14, "with": 0.02, "work": 0.08, "would": -0.36, "yeah": 0.02, "yes": -0.89,
    "you": -0.30, "you're": -0.32, "your": 0.02,
}  # fmt: skip
# Words before it.
BEFORE = {
    "a": -0.03, "about": -0.16, "actually": -0.12, "after": -0.22, "again": -0.10, "all": 0.03, "alright": 0.26,
    "also": 0.02, "am": -0.12, "an": 0.07, "and": 0.33, "another": -0.04, "any": 0.14, "anything": 0.66, "are": -0.17,
    "as": 0.13, "at": 0.14, "back": 0.17, "be": 0.15, "because": 0.06, "before": -0.08, "but": 0.07, "by": -0.19,
    "can": 0.43, "change": 0.32, "could": -0.14, "did": 0.18, "different": -0.35, "do": -0.06, "does": -0.23,
    "doing": -0.58, "don't": 0.18, "done": 0.81, "else": 1.18, "ever": 0.14, "favorite": 0.19, "find": 0.03,
    "fine": -0.51, "first": -0.10, "for": 0.12, "from": -0.31, "get": 0.02, "go": -0.18, "going": -0.57, "got": -0.02,
    "great": -0.13, "had": 0.18, "happy": 0.05, "has": -0.10, "have": -0.06, "hello": -0.47, "help": 0.02, "her": 0.22,
    "here": -0.04, "hey": 0.12, "hi": -0.57, "his": 0.13, "how": -0.24, "i": -0.22, "i'd": -0.82, "i'll": -0.50,
    "i'm": -0.51, "i've": 0.11, "in": 0.05, "instead": -0.19, "into": 0.03, "is": 0.40, "it": 0.01, "it's": -0.12,
    "its": 0.27, "just": -0.01, "know": 0.19, "last": 0.32, "let": -0.33, "let's": -0.29, "like": -0.12, "look": 0.09,
    "looking": -1.31, "lot": 0.12, "love": 0.34, "me": -0.17, "more": 0.42, "much": -0.19, "my": 0.12, "name": -0.27,
    "need": -0.27, "new": 0.16, "next": 0.37, "nice": 0.35, "no": 0.34, "not": 0.35, "now": 0.17, "of": -0.05,
    "off": -0.22, "oh": -0.26, "ok": -0.28, "okay": 0.17, "on": 0.06, "one": -0.18, "or": 0.21, "other": -0.02,
    "our": 0.64, "out": 0.32, "over": -0.02, "perfect": -0.10, "please": -0.80, "question": 0.14, "really": 0.18,
    "right": 0.04, "say": -0.36, "see": 0.31, "she": -0.20, "should": -0.23, "so": -0.50, "some": 0.10,
    "something": -0.50, "sorry": 0.08, "still": 0.09, "sure": -0.27, "talk": 0.04, "tell": -0.34, "than": 0.13,
    "thank": -0.19, "thanks": -0.23, "that": -0.06, "that's": -0.14, "the": -0.01, "their": 0.43, "them": 0.29,
    "then": 0.19, "there": -0.23, "these": 0.39, "they": 0.25, "thing": 0.09, "think": -0.30, "this": 0.09,
    "those": 0.19, "today": 0.37, "too": -0.02, "try": -0.54, "two": -0.38, "up": -0.20, "us": -0.41, "very": 0.07,
    "want": -0.12, "was": 0.13, "way": 0.20, "we": 0.23, "welcome": 0.96, "well": 0.13, "were": 0.24, "what": -0.64,
    "what's": -0.28, "when": -0.01, "where": -0.71, "which": -0.25, "while": 0.17, "who": 0.36, "why": -0.80,
    "will": 0.26, "with": 0.22, "work": 0.21, "would": -0.50, "yeah": 0.30, "yes": -0.04, "you": 0.10, "you're": 0.23,
    "your": 0.22,
}  # fmt: skip
# Words of its answer.
AFTER = {
    "a": 0.12, "about": 0.53, "actually": -0.21, "after": -0.03, "again": 0.01, "all": 0.01, "alright": -0.07,
    "also": 0.14, "am": -0.01, "an": 0.12, "and": 0.11, "another": -0.28, "any": -0.08, "anything": -0.62, "are": 0.12,
    "as": 0.05, "at": 0.20, "be": -0.06, "because": 0.33, "been": -0.36, "before": -0.23, "but": 0.10, "by": -0.22,
    "can": -0.04, "change": -0.15, "could": -0.08, "did": 0.44, "different": 0.09, "do": -0.11, "does": -0.04,
    "don't": -0.30, "done": 0.04, "else": -0.36, "ever": -0.15, "favorite": -0.12, "find": -0.02, "fine": -0.15,
    "first": 0.29, "for": 0.09, "from": 0.02, "get": -0.25, "go": -0.01, "going": -0.43, "good": -0.45, "got": -0.48,
    "great": -0.55, "had": 0.14, "happy": 0.19, "has": 0.04, "have": -0.01, "hello": -0.02, "help": 0.06, "her": 0.41,
    "here": -0.44, "hi": -0.30, "him": -0.18, "his": -0.33, "how": -0.07, "i": -0.15, "i'd": -0.54, "i'm": -0.74,
    "i've": -0.23, "if": -0.14, "in": 0.11, "instead": 0.02, "into": 0.21, "is": -0.16, "it": -0.23, "it's": -0.02,
    "its": -0.13, "just": 0.07, "know": -0.07, "last": -0.15, "let": 0.41, "let's": -0.38, "like": -0.03, "look": 0.13,
    "looking": -0.57, "lot": -0.03, "love": 0.46, "me": -0.48, "more": 0.32, "much": 0.08, "my": -0.01, "name": -0.15,
    "need": -0.46, "new": 0.23, "next": -0.38, "nice": -0.10, "no": 0.17, "not": 0.30, "now": -0.04, "of": 0.21,
    "off": -0.12, "oh": 0.43, "ok": -0.18, "okay": 0.14, "on": 0.12, "one": -0.06, "or": 0.29, "other": 0.06,
    "our": -0.06, "out": -0.02, "over": -0.04, "perfect": 0.19, "please": -0.41, "question": -0.05, "really": -0.01,
    "right": -0.02, "say": 0.07, "see": -0.25, "she": -0.24, "should": -0.25, "so": -0.26, "some": 0.17,
    "something": -0.10, "sorry": 0.01, "still": 0.20, "sure": 0.04, "talk": -0.19, "tell": -0.12, "than": -0.03,
    "thank": -0.66, "thanks": -0.23, "that": 0.03, "that's": 0.18, "the": -0.04, "them": 0.20, "then": -0.21,
    "there": 0.07, "these": 0.17, "they": -0.01, "thing": 0.17, "think": 0.11, "this": -0.12, "those": -0.11,
    "to": 0.22, "today": -0.34, "too": -0.18, "try": -0.23, "two": 0.35, "us": -0.51, "very": -0.33, "want": -0.17,
    "was": -0.25, "way": -0.38, "we": -0.11, "welcome": -0.29, "well": -0.16, "were": 0.06, "what": 0.15,
    "what's": -0.19, "when": 0.17, "where": 0.56, "which": 0.49, "while": 0.26, "who": 0.05, "why": -0.15,
    "will": 0.11, "with": 0.20, "work": 0.04, "would": -0.12, "yeah": -0.06, "yes": 0.18, "you": 0.24, "you're": 0.03,
    "your": 0.28,
}  # fmt: skip
