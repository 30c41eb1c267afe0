"""The tables in SQLite, as numbered migrations; `PRAGMA user_version` says how many of them a database has.

Times are microseconds since 1970, lists and nested values are JSON. `message_words` and `passage_words` are full text;
their rows have the sequence of the row that they are about. `message_parts` and `passage_parts` number the vectors: the
vector of slot n is line n of the matrix beside the database. `unembedded` lists the messages that have no vectors yet.
`imports` says how far each transcript was read; it holds no text of it. `channels` says how many messages of a stream
wait for its next summary, and up to which message (`seen_id`) the last one has read.
`messages_of_agent` and `messages_of_session` have the columns that a scope may ask for, so that no message is read for
it.
`sqlite_stat1` says how many rows an agent and a session usually have. Without it SQLite takes 10 for granted: of an
agent and 500 sequences it would look up the agent, and walk through all of its messages.

The full text is our own stems, so the tokenizer only has to cut at blanks: each character of ASCII that is not a blank
or a control character belongs to a word, and so does every other character. Positions and lengths are not kept: the
words are stored beside the index and are read for the best rows. 1,000,000 rows of 25 words take 199 MB, with
positions and lengths 259 MB; 100,000 are written in 1.8 s of processor time, with positions and lengths in 2.2 s.
"""

from __future__ import annotations

_PUNCTUATION = "".join(map(chr, range(0x21, 0x7F)))
_TOKENIZER = "ascii tokenchars '{}'".format(_PUNCTUATION.replace("'", "''"))
_WORDS = 'USING fts5 (words, detail = none, columnsize = 0, tokenize = "{}")'.format(_TOKENIZER.replace('"', '""'))

# A statement ends with a semicolon at the end of a line.
# History of the format: 1: first version. 2: channels with their summaries, and profiles of people.
MIGRATIONS = (
    f"""
    CREATE TABLE agents (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        user_id TEXT NOT NULL,
        name TEXT NOT NULL,
        message_ids TEXT NOT NULL DEFAULT '[]',
        message_count INTEGER NOT NULL DEFAULT 0,
        word_count INTEGER NOT NULL DEFAULT 0,
        last_memory_update INTEGER,
        created_at INTEGER NOT NULL,
        UNIQUE (user_id, name)
    );
    CREATE TABLE blocks (
        id TEXT PRIMARY KEY,
        agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
        label TEXT NOT NULL,
        description TEXT NOT NULL DEFAULT '',
        value TEXT NOT NULL DEFAULT '',
        char_limit INTEGER NOT NULL DEFAULT 20000,
        read_only INTEGER NOT NULL DEFAULT 0,
        version INTEGER NOT NULL DEFAULT 1,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        UNIQUE (agent_id, label)
    );
    CREATE TABLE block_history (
        agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
        label TEXT NOT NULL,
        version INTEGER NOT NULL,
        value TEXT NOT NULL,
        action TEXT NOT NULL,
        edited_at INTEGER NOT NULL,
        PRIMARY KEY (agent_id, label, version)
    ) WITHOUT ROWID;
    CREATE TABLE sessions (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
        id TEXT NOT NULL,
        project TEXT NOT NULL DEFAULT '',
        channel TEXT NOT NULL DEFAULT '',
        title TEXT NOT NULL DEFAULT '',
        source TEXT NOT NULL DEFAULT '',
        started_at INTEGER NOT NULL,
        last_at INTEGER NOT NULL,
        messages INTEGER NOT NULL DEFAULT 0,
        state TEXT,
        UNIQUE (agent_id, id)
    );
    CREATE TABLE messages (
        sequence INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
        session INTEGER NOT NULL REFERENCES sessions (number) ON DELETE CASCADE,
        role TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        speaker TEXT NOT NULL DEFAULT '',
        tool_name TEXT NOT NULL DEFAULT '',
        tokens INTEGER NOT NULL DEFAULT 0,
        metadata TEXT NOT NULL DEFAULT '{{}}',
        content TEXT NOT NULL
    );
    CREATE INDEX messages_of_session ON messages (session, created_at, sequence, role);
    CREATE INDEX messages_of_agent ON messages (agent_id, created_at, role, session);
    CREATE TABLE unembedded (sequence INTEGER PRIMARY KEY REFERENCES messages (sequence) ON DELETE CASCADE);
    CREATE TABLE passages (
        sequence INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
        content TEXT NOT NULL,
        tags TEXT NOT NULL DEFAULT '[]',
        project TEXT NOT NULL DEFAULT '',
        code_refs TEXT NOT NULL DEFAULT '[]',
        created_at INTEGER NOT NULL
    );
    CREATE INDEX passages_of_agent ON passages (agent_id, created_at);
    CREATE TABLE entries (
        id TEXT PRIMARY KEY,
        agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
        type TEXT NOT NULL,
        content TEXT NOT NULL,
        priority INTEGER NOT NULL DEFAULT 50,
        tokens INTEGER NOT NULL DEFAULT 0,
        session_id TEXT,
        task_id TEXT,
        tags TEXT NOT NULL DEFAULT '[]',
        metadata TEXT NOT NULL DEFAULT '{{}}',
        is_summarized INTEGER NOT NULL DEFAULT 0,
        summary_of TEXT NOT NULL DEFAULT '[]',
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL
    );
    CREATE INDEX entries_of_session ON entries (agent_id, session_id, created_at);
    CREATE TABLE imports (
        agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
        path TEXT NOT NULL,
        cursor TEXT NOT NULL,
        done_at INTEGER NOT NULL,
        PRIMARY KEY (agent_id, path)
    ) WITHOUT ROWID;
    CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE VIRTUAL TABLE message_words {_WORDS};
    CREATE TABLE message_parts (
        slot INTEGER PRIMARY KEY AUTOINCREMENT,
        sequence INTEGER NOT NULL
    );
    CREATE INDEX parts_of_message ON message_parts (sequence);
    CREATE VIRTUAL TABLE passage_words {_WORDS};
    CREATE TABLE passage_parts (
        slot INTEGER PRIMARY KEY AUTOINCREMENT,
        sequence INTEGER NOT NULL
    );
    CREATE INDEX parts_of_passage ON passage_parts (sequence);
    ANALYZE;
    INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
        ('messages', 'messages_of_agent', '1000000 250000 2 2 2'),
        ('messages', 'messages_of_session', '1000000 500 2 1 1'),
        ('messages', 'sqlite_autoindex_messages_1', '1000000 1'),
        ('passages', 'passages_of_agent', '10000 5000 1'),
        ('passages', 'sqlite_autoindex_passages_1', '10000 1'),
        ('sessions', 'sqlite_autoindex_sessions_1', '2000 1000 1');
    """,
    """
    CREATE TABLE channels (
        agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        waiting INTEGER NOT NULL DEFAULT 0,
        dirty_at INTEGER,
        seen_id TEXT NOT NULL DEFAULT '',
        changed_at INTEGER NOT NULL,
        PRIMARY KEY (agent_id, name)
    ) WITHOUT ROWID;
    CREATE INDEX dirty_channels ON channels (agent_id, dirty_at) WHERE dirty_at IS NOT NULL;
    CREATE INDEX sessions_of_channel ON sessions (agent_id, channel, project, last_at);
    CREATE TABLE channel_summaries (
        agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
        channel TEXT NOT NULL,
        kind TEXT NOT NULL,
        version INTEGER NOT NULL,
        summary TEXT NOT NULL,
        messages INTEGER NOT NULL DEFAULT 0,
        made_at INTEGER NOT NULL,
        PRIMARY KEY (agent_id, channel, kind, version)
    ) WITHOUT ROWID;
    CREATE TABLE profiles (
        agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
        participant TEXT NOT NULL,
        forgotten_at INTEGER,
        changed_at INTEGER NOT NULL,
        PRIMARY KEY (agent_id, participant)
    ) WITHOUT ROWID;
    CREATE TABLE profile_facts (
        agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
        id TEXT NOT NULL,
        participant TEXT NOT NULL,
        text TEXT NOT NULL,
        message_id TEXT NOT NULL DEFAULT '',
        said_at INTEGER NOT NULL,
        score REAL NOT NULL DEFAULT 1,
        subject TEXT NOT NULL DEFAULT '',
        retired_by TEXT NOT NULL DEFAULT '',
        changed_at INTEGER NOT NULL,
        PRIMARY KEY (agent_id, id)
    ) WITHOUT ROWID;
    CREATE INDEX facts_of_participant ON profile_facts (agent_id, participant, said_at);
    CREATE INDEX facts_of_message ON profile_facts (agent_id, message_id);
    """,
)
FORMAT = len(MIGRATIONS)
