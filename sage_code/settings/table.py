"""Every setting, described once: loading, `sage config` and the documentation read the fields of `Settings`.

To add a setting, add a field. Its annotation is its type; its metadata holds the allowed range, the help line, and
whether a project may set it. Nothing here reads a file or the environment.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias, cast

from sage_code.errors import ConfigError

Value: TypeAlias = bool | int | float | str | tuple[str, ...]
OriginKind: TypeAlias = Literal["default", "user", "project", "env", "flag"]

# Models that ship with Sage, without a download or foreign code: a project may choose them too.
BUILT_IN_MODELS = ("bundled", "hashing")

_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_MAX_TEXT = 1_000
_MAX_ITEMS = 1_000
# The owner of a model can move a branch or a tag, but not a commit.
_PINNED = re.compile(r"[^@\s][^@]*@[0-9a-f]{40}")
_NOT_EMPTY: dict[str, object] = {"pattern": re.compile(r"\S.*"), "pattern_help": "not empty"}
# What of an address is secret: all between the name of a user and the last @, and a password among the parameters. A
# password that is not escaped may itself have a slash or an @.
_PASSWORDS = re.compile(r"(?<=://)([^:@/]*):.*@|\b((?:ssl)?password\s*=\s*)[^&\s]+", re.IGNORECASE | re.DOTALL)
# What is printed for a secret that is set.
HIDDEN = "***"
_SUMMARISERS = ("extractive", "anthropic", "openai-compatible", "command")
_KINDS = {"bool": "bool", "int": "int", "float": "float", "str": "text", "tuple[str, ...]": "list"}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from: the kind of source, and its file and line, variable or flag."""

    kind: OriginKind
    where: str


_DEFAULT = Origin("default", "built in")


@dataclass(frozen=True, slots=True)
class Setting:
    """The description of one setting."""

    key: str
    kind: str  # bool int float text list
    default: Value
    help: str
    low: float = 0
    high: float = 0
    pattern: re.Pattern[str] | None = None
    pattern_help: str = ""
    user_only: bool = False
    costs: bool = False  # a larger value uses more of the machine: a project may only lower it
    secret: bool = False  # never shown, and kept in a file of its own
    variables: tuple[str, ...] = ()  # other programs' variables that give it too, if nothing of Sage's does

    @property
    def allowed(self) -> str:
        """The allowed values, in words."""
        match self.kind:
            case "bool":
                return "true or false"
            case "int":
                return f"a whole number from {self.low:.0f} to {self.high:.0f}"
            case "float":
                return f"a number from {self.low:g} to {self.high:g}"
        what = "a list of texts" if self.kind == "list" else "a text"
        return f"{what}, {self.pattern_help}" if self.pattern_help else what

    def parse(self, text: str, where: str) -> Value:
        """The value that a person typed, in a variable, a flag or a command."""
        text = text.strip()
        try:
            value = _PARSERS[self.kind](text)
        except ValueError:
            value = text  # `check` refuses it and says what is allowed
        return self.check(value, where)

    def check(self, value: object, where: str) -> Value:
        """`value` as this setting's type, or a ConfigError that says `where` it was set and what is allowed."""
        if isinstance(value, list):
            value = tuple(value)
        if self.kind == "float" and type(value) is int and abs(value) <= self.high:
            value = float(value)
        if not self._accepts(value):
            shown = HIDDEN if self.secret else _short(without_password(value) if isinstance(value, str) else value)
            raise ConfigError(f"{where}: {self.key} cannot be {shown}", f"allowed is {self.allowed}")
        return value  # type: ignore[return-value]  # `_accepts` has looked at the type

    def shown(self, value: Value) -> Value:
        """A value as it may be printed: *** for a secret, and for the password that an address may have."""
        if self.secret:
            return HIDDEN if value else ""
        return without_password(value) if isinstance(value, str) else value

    def _accepts(self, value: object) -> bool:
        """Whether `value` has this setting's type and range."""
        match self.kind, value:
            case "bool", bool():
                return True
            case "int", int() if not isinstance(value, bool):
                return self.low <= value <= self.high
            case "float", float():
                return math.isfinite(value) and self.low <= value <= self.high
            case "text", str():
                return self._accepts_text(value)
            case "list", tuple():
                return len(value) <= _MAX_ITEMS and all(
                    isinstance(item, str) and item and self._accepts_text(item) for item in value
                )
        return False

    def _accepts_text(self, text: str) -> bool:
        # Unprintable characters would reach terminals, file names and headers.
        shape = self.pattern is None or self.pattern.fullmatch(text)
        return len(text) <= _MAX_TEXT and text.isprintable() and bool(shape)


def without_password(address: str) -> str:
    """An address as it may be shown: with *** for a password. Other texts stay as they are."""
    return _PASSWORDS.sub(lambda found: f"{found[1]}:***@" if found[2] is None else f"{found[2]}***", address)


# Each of these returns a dataclass field; the annotation beside the call gives it its type.
def _ratio(default: float, about: str, **more: object) -> Any:
    return field(default=default, metadata={"help": about, "low": 0, "high": 1, **more})


def _number(default: float, low: float, high: float, about: str, **more: object) -> Any:
    return field(default=default, metadata={"help": about, "low": low, "high": high, **more})


def _other(default: Value, about: str, **more: object) -> Any:
    return field(default=default, metadata={"help": about, **more})


def _key(about: str, *variables: str) -> Any:
    """The key of a service. Blanks and other letters have no place in the header that it is sent in."""
    more = {"pattern": re.compile(r"[\x21-\x7e]*"), "pattern_help": "without blanks", "variables": variables}
    return field(default="", repr=False, metadata={"help": about, "user_only": True, "secret": True, **more})


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings with their values. Made by `sage_code.settings.loading.load_settings`."""

    # Indexing
    code_embedding_model: str = _other(
        "bundled", "Model for code: bundled, hashing, a sentence-transformers name, or a folder.", **_NOT_EMPTY
    )
    code_embedding_dim: int = _number(
        0, 0, 4_096, "Length to shorten the code model's vectors to, if it allows that; 0: whole."
    )
    store_uri: str = _other(
        "", "Where the store is: a folder or s3://bucket/path; empty: codebase/lancedb in Sage's home.", user_only=True
    )
    store_endpoint: str = _other(
        "",
        "Address of the S3 server of the store; empty: AWS_ENDPOINT_URL, or Amazon's.",
        user_only=True,
        pattern=re.compile(r"(?:https?://[^\s@]+)?"),
        pattern_help="http:// or https://, without a password",
    )
    store_region: str = _other("", "Region of the store's bucket; empty: AWS_REGION, or us-east-1.", user_only=True)
    store_access_key_id: str = _key("Key id for the store's bucket.", "AWS_ACCESS_KEY_ID")
    store_secret_access_key: str = _key("Secret key for the store's bucket.", "AWS_SECRET_ACCESS_KEY")
    fleet_cache_gb: float = _number(
        2, 0, 10_000, "Most of a remote fleet that is copied to this machine, in GB; 0: nothing.", user_only=True
    )
    shared_index: str = _other(
        "", "Where CI publishes indexes for all: s3://BUCKET/FOLDER or a folder; empty: nowhere.", user_only=True
    )
    shared_project: str = _other(
        "", "Name of the project in the shared index; empty: the address of git's remote `origin`."
    )
    shared_trusted_keys: tuple[str, ...] = _other(
        (),
        "Public keys whose signed indexes are used; `sage share trust` adds one.",
        user_only=True,
        pattern=re.compile(r"ed25519:[A-Za-z0-9_-]{43}(#[\w.@-]{1,60})?"),
        pattern_help="each ed25519:KEY or ed25519:KEY#NAME",
    )
    trusted_models: tuple[str, ...] = _other(
        (),
        "Models that may run their own code, each pinned to a commit.",
        user_only=True,
        pattern=_PINNED,
        pattern_help="each name@revision with the revision's 40 hexadecimal digits",
    )
    exclude: tuple[str, ...] = _other((), "Patterns of files to leave out of the index, as in .gitignore.")
    include_generated: bool = _other(False, "Index generated and minified files too.")
    include_secrets: bool = _other(
        False, "Index files that hold secrets too: .env, private keys, key stores, credentials.", user_only=True
    )
    max_file_bytes: int = _number(1_000_000, 1_000, 100_000_000, "Leave out files larger than this.", costs=True)
    index_workers: int = _number(0, 0, 64, "Processes that parse while indexing; 0 chooses a number.", costs=True)
    parse_timeout_s: float = _number(10.0, 0.1, 600, "Stop parsing a file after this many seconds.", costs=True)

    # Recall
    embedding_model: str = _other(
        "bundled", "Model for prose (knowledge, checkpoints); named like the model for code.", **_NOT_EMPTY
    )
    recall_threshold: float = _ratio(0.70, "Least score of knowledge to recall.")
    proactive_threshold: float = _ratio(0.40, "Least score of knowledge to offer unasked.")
    dedup_threshold: float = _ratio(0.90, "Similarity from which two checkpoints are the same.")
    embedding_weight: float = _ratio(0.70, "Weight of meaning in a recall score.")
    keyword_weight: float = _ratio(0.30, "Weight of keywords in a recall score.")
    knowledge_cache_ttl_seconds: float = _number(
        45.0, 0, 86_400, "Keep the knowledge index in memory for this many seconds."
    )
    load_timeout_ms: int = _number(
        2_000, 1, 600_000, "Milliseconds after which a plugin may replace a memory that is still being loaded."
    )

    # Conversations, blocks and the archive
    memory_uri: str = _other(
        "",
        "Database of conversations and agents' memory: postgresql://… of a team; empty: memory.db in Sage's home.",
        user_only=True,
    )
    memory_agent: str = _other("sage", "The agent whose memory the tools read and edit.", user_only=True, **_NOT_EMPTY)
    memory_user: str = _other(
        "", "Whose memory it is in a team's database; empty: the name of the login.", user_only=True
    )
    remember_conversations: bool = _other(
        True, "Keep the messages of followed sessions of agents, so that they can be searched."
    )
    memory_window: int = _number(256_000, 1_000, 100_000_000, "Tokens of the context of agents that Sage compacts for.")
    compaction_threshold: float = _ratio(0.80, "Share of the context from which its oldest messages are summarised.")
    summary_messages: int = _number(10, 1, 10_000, "Messages after which the summary of a channel is made again.")
    summary_minutes: float = _number(15, 0, 10_080, "Minutes after which fewer messages are summarised too.")
    summary_window: int = _number(120, 10, 2_000, "Messages that one summary of a channel reads.", costs=True)
    profile_minutes: float = _number(60, 0, 525_600, "Minutes between two versions of a channel's profile.")
    profile_chars: int = _number(800, 100, 20_000, "Most characters of the profile of a person.", user_only=True)
    channel_summaries: bool = _other(
        True, "Keep summaries of channels and profiles of people up to date in the background.", user_only=True
    )
    scheduler_tick_s: float = _number(60, 1, 86_400, "Seconds between two looks for summaries that are due.")
    relationship_hints: bool = _other(
        False, "Say who works and talks with whom, also where several people take part.", user_only=True
    )
    block_chars: int = _number(20_000, 100, 1_000_000, "Most characters of a new block of core memory.", user_only=True)

    # What a team knows together
    team_database_url: str = _other(
        "", "Database of a team's memory: postgresql://YOU@HOST/DATABASE; empty: none.", user_only=True
    )
    team_name: str = _other("main", "The team in that database.", user_only=True, **_NOT_EMPTY)

    # Who writes summaries. A project may neither send what was said elsewhere nor start a program.
    summariser: str = _other(
        "extractive",
        "Who writes summaries: extractive (no network), anthropic, openai-compatible (also a local Ollama), command.",
        user_only=True,
        pattern=re.compile("|".join(_SUMMARISERS)),
        pattern_help="one of " + ", ".join(_SUMMARISERS),
    )
    summariser_model: str = _other("", "Model that writes summaries, as its service names it.", user_only=True)
    summariser_url: str = _other(
        "",
        "Base address of the service; empty: Anthropic's own, or an Ollama on this machine.",
        user_only=True,
        pattern=re.compile(r"(?:https?://[^\s@]+)?"),
        pattern_help="http:// or https://, without a password",
    )
    summariser_command: tuple[str, ...] = _other(
        (), "Program and arguments that read a prompt and print a summary; no shell is involved.", user_only=True
    )
    summariser_timeout_s: float = _number(
        60.0, 0.1, 600, "Seconds for one summary with all retries; then sentences are chosen.", user_only=True
    )
    summariser_max_tokens: int = _number(1_500, 100, 8_000, "Most tokens of an answer of the model.", user_only=True)
    summariser_input_tokens: int = _number(
        16_000, 500, 500_000, "Most tokens of messages that the model is given, the newest.", user_only=True
    )
    anthropic_api_key: str = _key("Key of the Anthropic API.", "ANTHROPIC_API_KEY")
    openai_api_key: str = _key("Key of the OpenAI-compatible service, if it wants one.", "OPENAI_API_KEY")

    # When to save a checkpoint
    trigger_threshold: float = _ratio(0.60, "Least combined score of the signals for a checkpoint.")
    topic_drift_threshold: float = _ratio(0.50, "How readily a new topic is seen: a higher value sees more of them.")
    convergence_question_drop: float = _ratio(0.20, "Share of questions below which a discussion concludes.")
    depth_min_messages: int = _number(8, 0, 10_000, "Fewest messages before an automatic checkpoint.")
    depth_min_tokens: int = _number(2_000, 0, 10_000_000, "Fewest tokens before an automatic checkpoint.")

    # Archiving: a project may not take memories out of the memory index.
    checkpoint_max_age_days: int = _number(
        90, 0, 36_500, "Archive automatic checkpoints after this many days of use; 0: never.", user_only=True
    )
    checkpoint_max_count: int = _number(
        200, 0, 1_000_000, "Keep this many automatic checkpoints, archive the rest; 0: all.", user_only=True
    )
    knowledge_max_age_days: int = _number(
        0, 0, 36_500, "Archive knowledge after this many days of use; 0: never.", user_only=True
    )
    maintenance_on_save: bool = _other(
        True, "Archive old memories by these limits whenever one is saved.", user_only=True
    )

    # Sessions of agents. A project may make them quieter, not louder.
    continuity_enabled: bool = _other(True, "Follow the sessions of agents, and give them back their last state.")
    capture_checkpoints: bool = _other(True, "Save checkpoints from transcripts, in the background and without asking.")
    ask_for_checkpoint: bool = _other(
        False, "Ask the agent to write a checkpoint itself, once for each session and reason.", user_only=True
    )
    brief_tokens: int = _number(
        1_500, 0, 20_000, "Most tokens that a new or compacted context is given; 0: none.", costs=True
    )
    subagent_tokens: int = _number(600, 0, 20_000, "Most tokens that a subagent is given; 0: none.", costs=True)
    trigger_cooldown: int = _number(30, 0, 86_400, "Fewest seconds between two automatic checkpoints of a session.")
    context_threshold: int = _number(70, 1, 100, "Save a checkpoint when so many percent of the context are full.")
    context_window: int = _number(0, 0, 100_000_000, "Tokens of the agent's context; 0: found out by itself.")
    context_cooldown: int = _number(60, 0, 86_400, "Fewest seconds between two looks at a full context.")
    share_worktrees: bool = _other(False, "Worktrees of one repository share the checkpoints of their sessions.")
    watcher_auto_start: bool = _other(False, "Start the watcher with the MCP server.", user_only=True)

    sources: Mapping[str, Origin] = field(default_factory=dict, compare=False, repr=False)
    # About settings that were ignored; the faces print these to stderr.
    warnings: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def origin(self, key: str) -> Origin:
        """Where the value of `key` came from."""
        return self.sources.get(key, _DEFAULT)

    @property
    def has_flags(self) -> bool:
        """Whether a value was given for this call alone."""
        return any(origin.kind == "flag" for origin in self.sources.values())

    def trusted_revision(self, model: str) -> str | None:
        """The commit at which the user trusts `model` to run its own code, if they do."""
        return dict(entry.rsplit("@", 1) for entry in self.trusted_models).get(model)


TABLE: dict[str, Setting] = {
    each.name: Setting(each.name, _KINDS[str(each.type)], cast(Value, each.default), **each.metadata)
    for each in fields(Settings)
    if each.metadata
}


def setting(key: str) -> Setting:
    """The description of `key`, or a ConfigError that names the most similar key."""
    if key not in TABLE:
        raise ConfigError(f"there is no setting {_short(key)}", nearest(key))
    return TABLE[key]


def nearest(key: str) -> str:
    """A hint for a `key` that does not exist."""
    import difflib  # lazy: only needed after a mistake

    close = difflib.get_close_matches(key.lower().replace("-", "_"), TABLE, n=1)
    return f"did you mean {close[0]}?" if close else "`sage config list` shows all settings"


def _split(text: str) -> object:
    """The items of `a, b` or, for items with a comma, of `["a", "b"]`."""
    if text.startswith("[") and text.endswith("]"):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass  # a pattern such as [ab]
    return tuple(item.strip() for item in text.split(",") if item.strip())


def _truth(text: str) -> object:
    return {**dict.fromkeys(_TRUE, True), **dict.fromkeys(_FALSE, False)}.get(text.lower(), text)


_PARSERS: dict[str, Callable[[str], object]] = {"bool": _truth, "int": int, "float": float, "text": str, "list": _split}


def _short(value: object) -> str:
    text = repr(value[0] if isinstance(value, tuple) and len(value) == 1 else value)
    return text if len(text) <= 80 else text[:77] + "..."
