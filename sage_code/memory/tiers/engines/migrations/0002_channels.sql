-- Streams of messages with their summaries, and what is known about the people who take part in them. A channel counts
-- the messages that wait for its next summary; `seen_id` is the last message that a summary has read.
CREATE TABLE channels (
    agent_id UUID NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    waiting BIGINT NOT NULL DEFAULT 0,
    dirty_at TIMESTAMPTZ,
    seen_id TEXT NOT NULL DEFAULT '',
    changed_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (agent_id, name)
);
CREATE INDEX dirty_channels ON channels (agent_id, dirty_at) WHERE dirty_at IS NOT NULL;
CREATE INDEX sessions_of_channel ON sessions (agent_id, channel, project, last_at);
CREATE TABLE channel_summaries (
    agent_id UUID NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    channel TEXT NOT NULL,
    kind TEXT NOT NULL,
    version INTEGER NOT NULL,
    summary JSONB NOT NULL,
    messages BIGINT NOT NULL DEFAULT 0,
    made_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (agent_id, channel, kind, version)
);
CREATE TABLE profiles (
    agent_id UUID NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    participant TEXT NOT NULL,
    forgotten_at TIMESTAMPTZ,
    changed_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (agent_id, participant)
);
CREATE TABLE profile_facts (
    agent_id UUID NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    participant TEXT NOT NULL,
    text TEXT NOT NULL,
    message_id TEXT NOT NULL DEFAULT '',
    said_at TIMESTAMPTZ NOT NULL,
    score DOUBLE PRECISION NOT NULL DEFAULT 1,
    subject TEXT NOT NULL DEFAULT '',
    retired_by TEXT NOT NULL DEFAULT '',
    changed_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (agent_id, id)
);
CREATE INDEX facts_of_participant ON profile_facts (agent_id, participant, said_at);
CREATE INDEX facts_of_message ON profile_facts (agent_id, message_id);
-- The server's statistics would keep samples of texts that are deleted later, where nobody can erase them.
ALTER TABLE channel_summaries ALTER summary SET STATISTICS 0;
ALTER TABLE profiles ALTER participant SET STATISTICS 0;
ALTER TABLE profile_facts ALTER text SET STATISTICS 0, ALTER participant SET STATISTICS 0, ALTER subject SET STATISTICS 0;
