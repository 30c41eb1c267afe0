"""Takes sentences out of a documentation comment and rewords them by rules as a question, a commit subject or keywords,
as people would type them.

The rules are readable and need no model; one seed always gives the same words.
"""

from __future__ import annotations

import random
import re

# Sentences end here; an abbreviation or a version number does not end one.
_SENTENCE_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)(?<!\bcf)[.!?:](?=\s+[A-Z`\"'(*]|\s*$)")
# Where prose stops and parameter lists, examples and markup begin.
_PROSE_END = re.compile(
    r"\n\s*\n|\n\s*(?:[@\\:](?:param|return|throws|type|see|note|deprecated|since|author|example|brief|ingroup|arg|raises|rtype)\b"
    r"|(?:Args?|Arguments|Parameters?|Params|Returns?|Raises|Yields|Examples?|Usage|Notes?|See also|Input|Output|Throws"
    r"|Attributes|Keyword args)\s*:?\s*\n"
    r"|(?:Args|Arguments|Parameters|Returns|Raises|Example|Examples|Usage|Note|Inputs?|Outputs?)\s*:"
    r"|[-*+•]\s|>>>|```|~~~|#+ |\.\. |<\w+|\d+[.)] |\|)",
    re.IGNORECASE,
)
# A comment that begins with a tag has no sentence of its own, but what is returned says what is done.
_TAG_FIRST = re.compile(r"\s*[@\\:](?!brief|short|desc|summary)\w+")
_RETURN_FIRST = re.compile(r"\s*[@\\]returns?\s+(?:\{[^{}]*\}\s*|\[[^\[\]]*\]\s*)(\S.*)", re.DOTALL)
_TAGS = re.compile(
    r"</?[A-Za-z][^<>]{0,80}>|\{@\w+\s+([^{}]*)\}"
    r"|[@\\](?:brief|short|details|public|private|internal|static|ingroup \w+|inheritdoc)\b"
)
_ROLE = re.compile(r":\w+(?::\w+)*:`~?([^`<>]*)(?:<[^<>`]*>)?`")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])?")
_TICKS = re.compile(r"[`*_]{1,3}([^`*\n]+?)[`*]{1,3}|``?|\*\*")
_URL = re.compile(r"\b[a-z]+://\S+")
_SPACES = re.compile(r"\s+")
_AFTER_NAME = re.compile(r"(?:\(\))?(?:\s+[-–:]+\s+|:\s+|\s+)(?:(?:is|are|was)\s+)?")
_WORD = re.compile(r"[^\W\d_]+")

_STOP = """
a an the of to in on at by for from with and or is are be been was were this that these those it its as if into
which will can may not does do has have given used using
"""
STOP_WORDS = frozenset(_STOP.split())

# Third person, base and participle follow from the base; only these are not regular.
_IRREGULAR_VERBS = """
begin:begun bind:bound build:built choose:chosen clip:clipped commit:committed draw:drawn drop:dropped dump:dumped
emit:emitted find:found fit:fitted flip:flipped freeze:frozen get:got give:given hide:hidden hold:held keep:kept
let:let log:logged make:made map:mapped overwrite:overwritten permit:permitted plan:planned plot:plotted pop:popped
put:put read:read redo:redone rewrite:rewritten run:run scan:scanned seek:sought send:sent set:set shut:shut
skip:skipped spawn:spawned split:split stop:stopped strip:stripped submit:submitted swap:swapped tag:tagged
take:taken tell:told throw:thrown trim:trimmed undo:undone unzip:unzipped wrap:wrapped write:written zip:zipped
"""
_IRREGULAR = dict(pair.split(":") for pair in _IRREGULAR_VERBS.split())
_VERBS = """
abort accept access accumulate acquire activate add adjust advance aggregate align allocate allow analyze animate
annotate append apply approximate archive arrange assemble assert assign attach authenticate authorize average await
batch begin bind block bootstrap broadcast browse buffer build bundle cache calculate call cancel capture cast
center change check choose clamp clean clear click clip clone close cluster coerce collapse collect color combine
commit compact compare compile complete compose compress compute concatenate configure confirm connect construct
consume contain convert copy correct count cover crawl create crop cut debug decode decompose decompress decrease
decrement decrypt deduplicate define delay delegate delete deliver dequeue derive deserialize destroy detach detect
determine diff disable discard disconnect dispatch display dispose divide download draw drop dump duplicate edit
embed emit enable encode encrypt end enforce enqueue ensure enumerate erase escape establish estimate evaluate evict
examine exclude execute exit expand expire export expose extend extract fail fetch fill filter finalize find finish
fire fit fix flatten flip flush fold follow force forget format forward free freeze gather generate get give grant
group grow guess handle hash hide highlight hold identify ignore import include increase increment index infer
inform init initialize inject insert inspect install instantiate interpolate interpret intersect invalidate invert
invoke isolate issue iterate join jump keep kill label launch let limit link list listen load localize locate lock
log login look lookup make manage map mark mask match measure merge migrate modify monitor mount move multiply mute
navigate negate normalize notify observe obtain offer open optimize order output override overwrite pack pad paint
parse partition pass paste patch pause peek perform permit persist pick place plan play plot point poll pop populate
post predict prefix prepare prepend preserve prevent print process produce project promote prompt propagate protect
prove provide prune publish pull purge push put query queue quit quote raise randomize rank read rebuild receive
recompute reconnect record recover redirect redo reduce refresh refund register reject release reload remember
remove rename render reorder repair repeat replace replay reply report request reset reshape resize resolve respond
restart restore restrict resume retain retrieve retry return reuse reverse revert revoke rewind rewrite roll
rollback rotate round route run sample sanitize save scale scan schedule score scroll search seek select send
separate serialize serve set setup shift show shrink shuffle shut shutdown sign signal simplify simulate skip sleep
slice smooth solve sort spawn specify split start stop store stream strip submit subscribe substitute subtract sum
summarize suppress suspend swap switch sync synchronize tag take tell terminate test throttle throw toggle tokenize
touch trace track train transfer transform translate transpose traverse trigger trim truncate try unbind undo
unescape uninstall union unlink unload unlock unmount unpack unregister unsubscribe unwrap unzip update upgrade
upload use validate verify visit wait walk warn watch wrap write yield zip zoom
"""
VERBS = frozenset(_VERBS.split())
_BASE: dict[str, str] = {}
for _verb in VERBS:
    _third = _verb + ("es" if re.search(r"(s|x|z|ch|sh)$", _verb) else "s")
    if re.search(r"[^aeiou]y$", _verb):
        _third = _verb[:-1] + "ies"
    _BASE[_verb] = _BASE[_third] = _verb

_QUESTIONS = (
    "how to {base} {rest}",
    "how do i {base} {rest}",
    "how do we {base} {rest}",
    "how to {base} {rest} in {language}",
    "{language} how to {base} {rest}",
    "{language} {base} {bare}",
    "{base} {bare} {language}",
    "{base} {bare}",
    "where do we {base} {rest}",
    "where is the code that {third} {rest}",
    "where is {object} {done}",
    "how is {object} {done}",
    "which function {third} {rest}",
    "function to {base} {rest}",
    "code to {base} {rest}",
    "what {third} {rest}",
)
_NOUN_QUESTIONS = (
    "what is {rest}",
    "where is {rest}",
    "where is {rest} defined",
    "{bare} {language}",
    "{language} {bare}",
    "find {rest}",
    "how does {rest} work",
)
_COMMITS = (
    "fix {gerund} {rest}",
    "fix bug when {gerund} {rest}",
    "fix: {base} {rest}",
    "feat: {base} {rest}",
    "add support to {base} {rest}",
    "allow to {base} {rest}",
    "make sure we {base} {rest}",
    "do not {base} {rest}",
    "refactor how we {base} {rest}",
    "{base} {rest}",
    "improve {gerund} {rest}",
    "error while {gerund} {rest}",
)
_NOUN_COMMITS = (
    "fix {rest}",
    "add {rest}",
    "update {rest}",
    "improve {rest}",
    "refactor {rest}",
    "wrong {bare}",
    "remove {rest}",
)
_LANGUAGE_WORDS = {"cpp": "c++", "csharp": "c#", "tsx": "typescript", "objc": "objective c", "ocaml_interface": "ocaml"}
# The words after the object in `parse the url into parts`.
_PREPOSITION = re.compile(
    r"\s(?:of|to|in|on|at|by|for|from|with|into|as|if|when|using|that|which|and|or|so|until|before|after|via|through)\s"
)


def plain(text: str) -> str:
    """Prose without its markup."""
    text = _ROLE.sub(r"\1", text)
    text = _TAGS.sub(lambda found: found[1] or " ", text)
    text = _LINK.sub(r"\1", text)
    text = _URL.sub(" ", text)
    text = _TICKS.sub(lambda found: found[1] or "", text)
    return _SPACES.sub(" ", text).strip(' -*#=~_/\\|>@"')


def prose(doc: str) -> str:
    """The first paragraph of a documentation, without markup."""
    doc = doc.strip()
    if _TAG_FIRST.match(doc):
        returned = _RETURN_FIRST.match(doc)
        doc = f"Return {returned[1]}" if returned else ""
    doc = re.sub(r"^\s*[@\\](?:brief|short|desc(?:ription)?|summary)\s+", "", doc)
    if (found := _PROSE_END.search(doc)) is not None and found.start() > 0:
        doc = doc[: found.start()]
    return plain(doc)


def sentences(doc: str, most: int = 2) -> list[str]:
    """The first sentences of a documentation, without their full stops."""
    rest = prose(doc)
    found: list[str] = []
    while rest and len(found) < most:
        end = _SENTENCE_END.search(rest)
        sentence, rest = (rest[: end.start()], rest[end.end() :].strip()) if end else (rest, "")
        if sentence.strip():
            found.append(sentence.strip())
    return found


def after(doc: str, sentence: str) -> str:
    """The rest of a documentation after one of its sentences; empty if the sentence is not found."""
    return plain(doc).partition(sentence)[2].lstrip(" .:;!?")


def drop_name(sentence: str, name: str) -> str:
    """The sentence without the name at its beginning, as Go and C write it: `Parse parses the URL`."""
    start = len(sentence) - len(sentence.removeprefix("@").lstrip())
    if not name or not sentence.startswith(name, start):
        return sentence
    found = _AFTER_NAME.match(sentence, start + len(name))
    if found is not None and len(sentence[found.end() :].split()) >= 3:
        return sentence[found.end() :]
    return sentence


def words_of(name: str) -> list[str]:
    """The words of an identifier, in lower case."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\W]+", " ", name)
    return [word.lower() for word in spaced.split()]


def third(verb: str) -> str:
    """`parse` as in "what parses it"."""
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ies"
    return verb + ("es" if re.search(r"(s|x|z|ch|sh)$", verb) else "s")


def participle(verb: str) -> str:
    """`parse` as in "where is it parsed"."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("e"):
        return verb + "d"
    return verb[:-1] + "ied" if re.search(r"[^aeiou]y$", verb) else verb + "ed"


def gerund(verb: str) -> str:
    """`parse` as in "fix parsing it"."""
    if verb.endswith("e") and not verb.endswith(("ee", "ye")):
        return verb[:-1] + "ing"
    doubled = _IRREGULAR.get(verb, "").endswith(verb[-1] * 2 + "ed") or verb in (
        "get",
        "set",
        "put",
        "run",
        "begin",
        "split",
        "cut",
        "shut",
        "let",
    )
    return verb + (verb[-1] if doubled else "") + "ing"


def imperative(sentence: str) -> tuple[str, str]:
    """The base of the verb that a sentence begins with, and the rest; ("", sentence) if it begins with no verb."""
    text = re.sub(
        r"^(?:This|The)\s+(?:function|method|class|routine|helper)\s+(?:will\s+|is used to\s+|can be used to\s+)?",
        "",
        sentence,
    )
    text = re.sub(
        r"^(?:Used|Utility|Helper|A helper|Function|Method|Helper function|Utility function)\s+(?:function\s+)?"
        r"(?:to|that)\s+",
        "",
        text,
    )
    first, _, rest = text.partition(" ")
    base = _BASE.get(first.lower().strip(",.:"), "")
    return (base, rest) if base and rest else ("", text)


def keywords(sentence: str, choice: random.Random) -> str:
    """The words that carry the meaning, sometimes with a few left out."""
    words = [word for word in re.findall(r"[\w.+#-]*\w", sentence.lower()) if word not in STOP_WORDS]
    if len(words) > 6:
        keep = choice.randint(4, min(8, len(words)))
        chosen = sorted(choice.sample(range(len(words)), keep))
        words = [words[index] for index in chosen]
    return " ".join(words)


def question(sentence: str, language: str, choice: random.Random) -> str:
    """The sentence as a question."""
    return _fill(sentence, language, choice, _QUESTIONS, _NOUN_QUESTIONS)


def commit(sentence: str, language: str, choice: random.Random) -> str:
    """The sentence as the subject of a commit or the title of an issue."""
    return _fill(sentence, language, choice, _COMMITS, _NOUN_COMMITS)


def _fill(
    sentence: str, language: str, choice: random.Random, verbal: tuple[str, ...], nominal: tuple[str, ...]
) -> str:
    """One of the templates, chosen at random, with the parts of a sentence filled in."""
    base, rest = imperative(sentence)
    rest = _lower_first(rest.rstrip(" .:;,"))
    if base == "return":
        base = choice.choice(("get", "find", "return", "compute"))
    if base in ("check", "test", "determine") or rest.startswith(("whether ", "if ")):
        rest = re.sub(r"^(?:whether|if)\b(?: or not)?", "if", rest)
    language = _LANGUAGE_WORDS.get(language, language)
    bare = " ".join(word for word in rest.split() if word.lower() not in STOP_WORDS)
    if not base:
        return choice.choice(nominal).format(rest=rest, bare=bare, language=language)
    thing = _PREPOSITION.split(f"{rest} ", maxsplit=1)[0].strip() or rest
    template = choice.choice(verbal)
    return template.format(
        base=base,
        rest=rest,
        bare=bare,
        language=language,
        object=thing,
        third=third(base),
        done=participle(base),
        gerund=gerund(base),
    )


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
