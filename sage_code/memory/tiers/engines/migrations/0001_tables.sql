-- The tables of the tiers. The search path is Sage's own schema; the dimension of vectors is known only when a model is
-- chosen, so the tables of vectors are made then (postgres_vectors.py).
CREATE TABLE agents (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id UUID NOT NULL UNIQUE,
    user_id TEXT NOT NULL,
    name TEXT NOT NULL,
    message_ids UUID[] NOT NULL DEFAULT '{}',
    message_count BIGINT NOT NULL DEFAULT 0,
    word_count BIGINT NOT NULL DEFAULT 0,
    last_memory_update TIMESTAMPTZ,
    created_at TIMESTAMPTZ NOT NULL,
    UNIQUE (user_id, name)
);
CREATE TABLE blocks (
    id UUID PRIMARY KEY,
    agent_id UUID NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    label TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    value TEXT NOT NULL DEFAULT '',
    char_limit INTEGER NOT NULL DEFAULT 20000,
    read_only BOOLEAN NOT NULL DEFAULT FALSE,
    version INTEGER NOT NULL DEFAULT 1,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    UNIQUE (agent_id, label)
);
CREATE TABLE block_history (
    agent_id UUID NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    label TEXT NOT NULL,
    version INTEGER NOT NULL,
    value TEXT NOT NULL,
    action TEXT NOT NULL,
    edited_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (agent_id, label, version)
);
CREATE TABLE sessions (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    agent_id UUID NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    project TEXT NOT NULL DEFAULT '',
    channel TEXT NOT NULL DEFAULT '',
    title TEXT NOT NULL DEFAULT '',
    source TEXT NOT NULL DEFAULT '',
    started_at TIMESTAMPTZ NOT NULL,
    last_at TIMESTAMPTZ NOT NULL,
    messages BIGINT NOT NULL DEFAULT 0,
    state JSONB,
    UNIQUE (agent_id, id),
    UNIQUE (number, agent_id)
);
-- One reference says that a message has a session and an agent, and that both belong together; two would say less. Each
-- reference is a fifth to a third of the server's time for a row.
CREATE TABLE messages (
    sequence BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id UUID NOT NULL UNIQUE,
    agent_id UUID NOT NULL,
    session BIGINT NOT NULL,
    role TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    speaker TEXT NOT NULL DEFAULT '',
    tool_name TEXT NOT NULL DEFAULT '',
    tokens INTEGER NOT NULL DEFAULT 0,
    metadata JSONB NOT NULL DEFAULT '{}',
    content TEXT NOT NULL,
    FOREIGN KEY (session, agent_id) REFERENCES sessions (number, agent_id) ON DELETE CASCADE
);
CREATE INDEX messages_of_session ON messages (session, created_at, sequence);
CREATE INDEX messages_of_agent ON messages (agent_id, created_at);
-- A role that few messages have is found without reading all of them. Equal keys are stored once: it stays small.
CREATE INDEX messages_of_role ON messages (agent_id, role);
CREATE TABLE unembedded (sequence BIGINT PRIMARY KEY REFERENCES messages (sequence) ON DELETE CASCADE);
CREATE TABLE passages (
    sequence BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id UUID NOT NULL UNIQUE,
    agent_id UUID NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    content TEXT NOT NULL,
    tags TEXT[] NOT NULL DEFAULT '{}',
    project TEXT NOT NULL DEFAULT '',
    code_refs JSONB NOT NULL DEFAULT '[]',
    created_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX passages_of_agent ON passages (agent_id, created_at);
CREATE INDEX passages_with_tag ON passages USING gin (tags);
CREATE TABLE entries (
    id UUID PRIMARY KEY,
    agent_id UUID NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    type TEXT NOT NULL,
    content TEXT NOT NULL,
    priority INTEGER NOT NULL DEFAULT 50,
    tokens INTEGER NOT NULL DEFAULT 0,
    session_id TEXT,
    task_id TEXT,
    tags TEXT[] NOT NULL DEFAULT '{}',
    metadata JSONB NOT NULL DEFAULT '{}',
    is_summarized BOOLEAN NOT NULL DEFAULT FALSE,
    summary_of TEXT[] NOT NULL DEFAULT '{}',
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX entries_of_session ON entries (agent_id, session_id, created_at);
CREATE INDEX entries_with_tag ON entries USING gin (tags);
-- How far each transcript was read; no text of it.
CREATE TABLE imports (
    agent_id UUID NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    cursor JSONB NOT NULL,
    done_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (agent_id, path)
);
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
-- Words are our own stems: no dictionary of the server's sees them.
CREATE TABLE message_words (sequence BIGINT PRIMARY KEY, words TEXT NOT NULL, tsv TSVECTOR NOT NULL);
CREATE INDEX message_words_tsv ON message_words USING gin (tsv);
CREATE TABLE passage_words (sequence BIGINT PRIMARY KEY, words TEXT NOT NULL, tsv TSVECTOR NOT NULL);
CREATE INDEX passage_words_tsv ON passage_words USING gin (tsv);
-- Words that many rows have, and in which share of them; counted in a sample when the database is maintained.
CREATE TABLE common_words (kind TEXT NOT NULL, word TEXT NOT NULL, share REAL NOT NULL, PRIMARY KEY (kind, word));
-- The server's statistics would keep samples of texts that are deleted later, where nobody can erase them.
ALTER TABLE blocks ALTER value SET STATISTICS 0, ALTER description SET STATISTICS 0;
ALTER TABLE block_history ALTER value SET STATISTICS 0;
ALTER TABLE sessions ALTER title SET STATISTICS 0, ALTER state SET STATISTICS 0;
ALTER TABLE messages ALTER content SET STATISTICS 0, ALTER metadata SET STATISTICS 0, ALTER speaker SET STATISTICS 0;
ALTER TABLE passages ALTER content SET STATISTICS 0, ALTER tags SET STATISTICS 0, ALTER code_refs SET STATISTICS 0;
ALTER TABLE entries ALTER content SET STATISTICS 0, ALTER tags SET STATISTICS 0, ALTER metadata SET STATISTICS 0;
ALTER TABLE message_words ALTER words SET STATISTICS 0, ALTER tsv SET STATISTICS 0;
ALTER TABLE passage_words ALTER words SET STATISTICS 0, ALTER tsv SET STATISTICS 0;
ALTER TABLE common_words ALTER word SET STATISTICS 0;
