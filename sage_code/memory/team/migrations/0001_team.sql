-- The memory of teams. Everything belongs to sage_team_owner, a role that cannot log in; a person has a role of their
-- own and only the right to call the functions below. Row-level security is forced, so that it binds the owner, and with
-- it these functions, too. Who calls is the role of the session, or the one that it changed to by SET ROLE: the server
-- decides who may do that, and no setting of a session can pretend it.

CREATE TABLE sage_team.members (
    team TEXT NOT NULL CHECK (team ~ '^[a-z0-9][a-z0-9_.-]{0,62}$'),
    member TEXT NOT NULL CHECK (member ~ '^[a-z][a-z0-9_-]{0,61}[a-z0-9]$' AND member !~ '--'),
    projects TEXT[] NOT NULL DEFAULT '{*}',
    is_admin BOOLEAN NOT NULL DEFAULT false,
    added_by TEXT NOT NULL,
    added_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (team, member)
);
CREATE INDEX members_by_member ON sage_team.members (member);

CREATE TABLE sage_team.items (
    item UUID PRIMARY KEY,
    team TEXT NOT NULL,
    project TEXT NOT NULL CHECK (length(project) <= 500),
    kind TEXT NOT NULL CHECK (kind IN ('checkpoint', 'knowledge', 'core', 'block')),
    name TEXT NOT NULL CHECK (name ~ '^[A-Za-z0-9_-]{1,120}$'),
    author TEXT NOT NULL,
    visibility TEXT NOT NULL CHECK (visibility IN ('me', 'project', 'team')),
    number INTEGER NOT NULL,
    deleted BOOLEAN NOT NULL DEFAULT false,
    text TEXT NOT NULL CHECK (length(text) <= 1000000),
    editor TEXT NOT NULL,
    changed_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    -- The transaction of the last change: what a replica asks by, since numbers of a sequence become visible out of order.
    changed_in XID8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX items_by_change ON sage_team.items (team, changed_in);
CREATE INDEX items_by_words ON sage_team.items USING gin (to_tsvector('simple', name || ' ' || text));

-- Every text that anybody has ever stored. There is no policy to change or delete one.
CREATE TABLE sage_team.versions (
    item UUID NOT NULL REFERENCES sage_team.items (item),
    number INTEGER NOT NULL,
    base INTEGER NOT NULL,
    author TEXT NOT NULL,
    op UUID NOT NULL UNIQUE,
    outcome TEXT NOT NULL CHECK (outcome IN ('stored', 'merged', 'conflict', 'resolved')),
    visibility TEXT NOT NULL,
    deleted BOOLEAN NOT NULL,
    text TEXT NOT NULL,
    made_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (item, number)
);

-- A version that could not be merged and that no person has looked at yet, until `resolved_by` says who has.
CREATE TABLE sage_team.conflicts (
    item UUID NOT NULL,
    number INTEGER NOT NULL,
    resolved_by TEXT,
    resolved_at TIMESTAMPTZ,
    PRIMARY KEY (item, number),
    FOREIGN KEY (item, number) REFERENCES sage_team.versions (item, number)
);

CREATE TABLE sage_team.audit (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    team TEXT NOT NULL,
    member TEXT NOT NULL,
    login TEXT NOT NULL,
    action TEXT NOT NULL,
    items UUID[] NOT NULL DEFAULT '{}',
    detail TEXT NOT NULL DEFAULT ''
);
CREATE INDEX audit_by_team ON sage_team.audit (team, id DESC);

-- Inside of a function of the owner, current_user is the owner; the setting `role` is still what SET ROLE has set, and
-- SET ROLE asks the server for the right.
CREATE FUNCTION sage_team.caller() RETURNS TEXT LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE current_setting('role') WHEN 'none' THEN session_user::text ELSE current_setting('role') END
$$;

CREATE FUNCTION sage_team.is_in(of_team TEXT) RETURNS BOOLEAN LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM sage_team.members m WHERE m.team = of_team AND m.member = sage_team.caller())
$$;

CREATE FUNCTION sage_team.is_admin(of_team TEXT) RETURNS BOOLEAN LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM sage_team.members m
        WHERE m.team = of_team AND m.member = sage_team.caller() AND m.is_admin)
$$;

-- The one rule of who sees what: a member of the team; of what is for the project, a member who works on it; of what is
-- for its author, the author.
CREATE FUNCTION sage_team.sees(of_team TEXT, of_project TEXT, of_author TEXT, of_visibility TEXT) RETURNS BOOLEAN
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM sage_team.members m
        WHERE m.team = of_team AND m.member = sage_team.caller()
          AND (of_author = m.member OR of_visibility = 'team'
               OR of_visibility = 'project' AND ('*' = ANY (m.projects) OR of_project = ANY (m.projects))))
$$;

ALTER TABLE sage_team.members ENABLE ROW LEVEL SECURITY;
ALTER TABLE sage_team.items ENABLE ROW LEVEL SECURITY;
ALTER TABLE sage_team.items FORCE ROW LEVEL SECURITY;
ALTER TABLE sage_team.versions ENABLE ROW LEVEL SECURITY;
ALTER TABLE sage_team.versions FORCE ROW LEVEL SECURITY;
ALTER TABLE sage_team.conflicts ENABLE ROW LEVEL SECURITY;
ALTER TABLE sage_team.conflicts FORCE ROW LEVEL SECURITY;
ALTER TABLE sage_team.audit ENABLE ROW LEVEL SECURITY;
ALTER TABLE sage_team.audit FORCE ROW LEVEL SECURITY;

CREATE POLICY seen ON sage_team.items FOR SELECT USING (sage_team.sees(team, project, author, visibility));
CREATE POLICY made ON sage_team.items FOR INSERT
    WITH CHECK (author = sage_team.caller() AND sage_team.sees(team, project, author, visibility));
CREATE POLICY changed ON sage_team.items FOR UPDATE USING (sage_team.sees(team, project, author, visibility));

CREATE POLICY seen ON sage_team.versions FOR SELECT
    USING (EXISTS (SELECT FROM sage_team.items i WHERE i.item = versions.item));
CREATE POLICY made ON sage_team.versions FOR INSERT
    WITH CHECK (author = sage_team.caller() AND EXISTS (SELECT FROM sage_team.items i WHERE i.item = versions.item));

CREATE POLICY seen ON sage_team.conflicts FOR SELECT
    USING (EXISTS (SELECT FROM sage_team.items i WHERE i.item = conflicts.item));
CREATE POLICY made ON sage_team.conflicts FOR INSERT
    WITH CHECK (EXISTS (SELECT FROM sage_team.items i WHERE i.item = conflicts.item));
CREATE POLICY changed ON sage_team.conflicts FOR UPDATE
    USING (EXISTS (SELECT FROM sage_team.items i WHERE i.item = conflicts.item))
    WITH CHECK (resolved_by = sage_team.caller());

-- A member sees what they did themselves, an administrator what everybody did.
CREATE POLICY seen ON sage_team.audit FOR SELECT
    USING (sage_team.is_admin(team) OR (member = sage_team.caller() AND sage_team.is_in(team)));
CREATE POLICY made ON sage_team.audit FOR INSERT WITH CHECK (member = sage_team.caller());

CREATE FUNCTION sage_team.note(of_team TEXT, what TEXT, which UUID[], more TEXT) RETURNS VOID LANGUAGE sql VOLATILE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO sage_team.audit (team, member, login, action, items, detail)
    VALUES (of_team, sage_team.caller(), session_user, what, which, left(more, 300))
$$;

-- Every stored version leaves a line, whichever function stored it.
CREATE FUNCTION sage_team.note_version() RETURNS TRIGGER LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM sage_team.note(i.team, CASE WHEN NEW.deleted THEN 'delete' ELSE 'write' END, ARRAY[NEW.item],
                           format('version %s, %s, %s', NEW.number, NEW.outcome, NEW.visibility))
    FROM sage_team.items i WHERE i.item = NEW.item;
    RETURN NULL;
END $$;
CREATE TRIGGER note_version AFTER INSERT ON sage_team.versions FOR EACH ROW EXECUTE FUNCTION sage_team.note_version();

-- Lock an item for an edit until the end of the transaction; what it says now, or no row if the caller sees none.
CREATE FUNCTION sage_team.begin_edit(of_item UUID)
RETURNS TABLE (number INTEGER, text TEXT, deleted BOOLEAN, visibility TEXT) LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
    SELECT i.number, i.text, i.deleted, i.visibility FROM sage_team.items i WHERE i.item = of_item FOR UPDATE
$$;

-- What an operation that was stored before has become: its acknowledgement may have been lost on the way.
CREATE FUNCTION sage_team.known_op(of_op UUID) RETURNS TABLE (item UUID, number INTEGER, outcome TEXT) LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT v.item, v.number, v.outcome FROM sage_team.versions v WHERE v.op = of_op AND v.author = sage_team.caller()
$$;

-- Store a version. `outcome` is what the caller made of it: 'conflict' keeps the text beside the current one, every other
-- one makes it the current one, which only the version `base` = the current number may do. Returns its number; 0 if
-- somebody else was quicker.
CREATE FUNCTION sage_team.write_item(
    of_op UUID, of_item UUID, of_team TEXT, of_project TEXT, of_kind TEXT, of_name TEXT, wanted_visibility TEXT,
    of_base INTEGER, current INTEGER, new_text TEXT, is_deleted BOOLEAN, of_outcome TEXT)
RETURNS INTEGER LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    old sage_team.items;
    next_number INTEGER;
    is_owner BOOLEAN;
BEGIN
    SELECT * INTO old FROM sage_team.items i WHERE i.item = of_item FOR UPDATE;
    IF NOT FOUND THEN
        IF NOT sage_team.is_in(of_team) THEN
            RAISE EXCEPTION 'not a member of this team' USING ERRCODE = '42501';
        END IF;
        IF current <> 0 THEN
            RAISE EXCEPTION 'there is no such item' USING ERRCODE = '42501';
        END IF;
        BEGIN
            INSERT INTO sage_team.items (item, team, project, kind, name, author, visibility, number, deleted, text, editor)
            VALUES (of_item, of_team, of_project, of_kind, of_name, sage_team.caller(), wanted_visibility, 1, is_deleted,
                    new_text, sage_team.caller());
        EXCEPTION WHEN unique_violation THEN
            -- Either somebody was quicker, or it is an item that the caller may not see: both look the same.
            RETURN 0;
        END;
        INSERT INTO sage_team.versions (item, number, base, author, op, outcome, visibility, deleted, text)
        VALUES (of_item, 1, 0, sage_team.caller(), of_op, of_outcome, wanted_visibility, is_deleted, new_text);
        RETURN 1;
    END IF;
    IF of_outcome <> 'conflict' AND old.number <> current THEN
        RETURN 0;
    END IF;
    is_owner := old.author = sage_team.caller() OR sage_team.is_admin(old.team);
    IF NOT is_owner AND (is_deleted AND NOT old.deleted OR wanted_visibility <> old.visibility) THEN
        RAISE EXCEPTION 'only its author or an administrator may delete it or change who sees it' USING ERRCODE = '42501';
    END IF;
    SELECT max(v.number) + 1 INTO next_number FROM sage_team.versions v WHERE v.item = of_item;
    INSERT INTO sage_team.versions (item, number, base, author, op, outcome, visibility, deleted, text)
    VALUES (of_item, next_number, of_base, sage_team.caller(), of_op, of_outcome, wanted_visibility, is_deleted, new_text);
    IF of_outcome = 'conflict' THEN
        INSERT INTO sage_team.conflicts (item, number) VALUES (of_item, next_number);
        UPDATE sage_team.items i SET changed_in = pg_current_xact_id(), changed_at = clock_timestamp()
        WHERE i.item = of_item;
    ELSE
        UPDATE sage_team.items i
        SET number = next_number, text = new_text, deleted = is_deleted, visibility = wanted_visibility,
            editor = sage_team.caller(), changed_in = pg_current_xact_id(), changed_at = clock_timestamp()
        WHERE i.item = of_item;
    END IF;
    RETURN next_number;
END $$;

-- Note that a person has looked at the other versions of an item; the same transaction stores what they decided.
CREATE FUNCTION sage_team.close_conflicts(of_item UUID, numbers INTEGER[]) RETURNS INTEGER LANGUAGE sql VOLATILE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH closed AS (
        UPDATE sage_team.conflicts c SET resolved_by = sage_team.caller(), resolved_at = clock_timestamp()
        WHERE c.item = of_item AND c.number = ANY (numbers) AND c.resolved_by IS NULL RETURNING 1)
    SELECT count(*)::integer FROM closed
$$;

-- What has changed for the caller since a transaction, and the transaction to ask from the next time.
CREATE FUNCTION sage_team.changes(of_team TEXT, since XID8, most INTEGER, after UUID)
RETURNS TABLE (item UUID, project TEXT, kind TEXT, name TEXT, author TEXT, visibility TEXT, number INTEGER,
               deleted BOOLEAN, text TEXT, editor TEXT, changed_at TIMESTAMPTZ)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    seen UUID[];
BEGIN
    SELECT array_agg(found.item) INTO seen FROM (
        SELECT i.item FROM sage_team.items i
        WHERE i.team = of_team AND i.changed_in >= since AND i.item > after ORDER BY i.item LIMIT most) found;
    IF seen IS NOT NULL THEN
        PERFORM sage_team.note(of_team, 'pull', seen, '');
    END IF;
    RETURN QUERY SELECT i.item, i.project, i.kind, i.name, i.author, i.visibility, i.number, i.deleted, i.text, i.editor,
                        i.changed_at
                 FROM sage_team.items i WHERE i.item = ANY (seen) ORDER BY i.item;
END $$;

CREATE FUNCTION sage_team.visible(of_team TEXT) RETURNS TABLE (item UUID) LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
    SELECT i.item FROM sage_team.items i WHERE i.team = of_team
$$;

-- One item, or one of its versions. A try that finds nothing is noted too, in the teams of the caller.
CREATE FUNCTION sage_team.read_item(of_team TEXT, of_item UUID)
RETURNS TABLE (item UUID, project TEXT, kind TEXT, name TEXT, author TEXT, visibility TEXT, number INTEGER,
               deleted BOOLEAN, text TEXT, editor TEXT, changed_at TIMESTAMPTZ)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT i.item, i.project, i.kind, i.name, i.author, i.visibility, i.number, i.deleted, i.text, i.editor,
                        i.changed_at
                 FROM sage_team.items i WHERE i.team = of_team AND i.item = of_item;
    PERFORM sage_team.note(of_team, CASE WHEN FOUND THEN 'read' ELSE 'refused' END, ARRAY[of_item], '');
END $$;

CREATE FUNCTION sage_team.history(of_team TEXT, of_item UUID)
RETURNS TABLE (number INTEGER, base INTEGER, author TEXT, outcome TEXT, visibility TEXT, deleted BOOLEAN, text TEXT,
               made_at TIMESTAMPTZ, is_open BOOLEAN)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT v.number, v.base, v.author, v.outcome, v.visibility, v.deleted, v.text, v.made_at,
                        EXISTS (SELECT FROM sage_team.conflicts c
                                WHERE c.item = v.item AND c.number = v.number AND c.resolved_by IS NULL)
                 FROM sage_team.versions v JOIN sage_team.items i USING (item)
                 WHERE i.team = of_team AND v.item = of_item ORDER BY v.number;
    PERFORM sage_team.note(of_team, CASE WHEN FOUND THEN 'read' ELSE 'refused' END, ARRAY[of_item], 'history');
END $$;

CREATE FUNCTION sage_team.version_text(of_item UUID, of_number INTEGER) RETURNS TEXT LANGUAGE plpgsql VOLATILE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found_text TEXT;
BEGIN
    SELECT v.text INTO found_text FROM sage_team.versions v WHERE v.item = of_item AND v.number = of_number;
    PERFORM sage_team.note(i.team, 'read', ARRAY[of_item], format('version %s', of_number))
    FROM sage_team.items i WHERE i.item = of_item;
    RETURN found_text;
END $$;

-- Each version is looked up by its key, so that its row policy is asked once and not for every pair of a join.
CREATE FUNCTION sage_team.open_conflicts(of_team TEXT)
RETURNS TABLE (item UUID, number INTEGER, base INTEGER, author TEXT, deleted BOOLEAN, text TEXT, made_at TIMESTAMPTZ)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    seen UUID[];
    one RECORD;
BEGIN
    SELECT array_agg(i.item ORDER BY i.item) INTO seen FROM sage_team.items i
    WHERE i.team = of_team AND i.item = ANY (ARRAY(
        SELECT DISTINCT c.item FROM sage_team.conflicts c WHERE c.resolved_by IS NULL));
    IF seen IS NULL THEN
        RETURN;
    END IF;
    PERFORM sage_team.note(of_team, 'read', seen, 'conflicts');
    FOR one IN SELECT c.item, c.number FROM sage_team.conflicts c
               WHERE c.item = ANY (seen) AND c.resolved_by IS NULL ORDER BY c.item, c.number LOOP
        RETURN QUERY SELECT v.item, v.number, v.base, v.author, v.deleted, v.text, v.made_at
                     FROM sage_team.versions v WHERE v.item = one.item AND v.number = one.number;
    END LOOP;
END $$;

-- The items that have words of a question, the best first. An empty question lists the newest.
CREATE FUNCTION sage_team.find(of_team TEXT, of_project TEXT, of_kind TEXT, question TEXT, most INTEGER)
RETURNS TABLE (item UUID, project TEXT, kind TEXT, name TEXT, author TEXT, visibility TEXT, number INTEGER,
               deleted BOOLEAN, text TEXT, editor TEXT, changed_at TIMESTAMPTZ)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    words TSQUERY := replace(plainto_tsquery('simple', question)::text, '&', '|')::tsquery;
    seen UUID[];
BEGIN
    SELECT array_agg(found.item ORDER BY found.place) INTO seen FROM (
        SELECT i.item, row_number() OVER (
                   ORDER BY ts_rank(to_tsvector('simple', i.name || ' ' || i.text), words) DESC, i.changed_at DESC) AS place
        FROM sage_team.items i
        WHERE i.team = of_team AND NOT i.deleted AND (of_project = '' OR i.project = of_project OR i.visibility = 'team')
          AND (of_kind = '' OR i.kind = of_kind)
          AND (question = '' OR to_tsvector('simple', i.name || ' ' || i.text) @@ words)
        ORDER BY place LIMIT least(most, 200)) found;
    PERFORM sage_team.note(of_team, 'find', coalesce(seen, '{}'), '');
    RETURN QUERY SELECT i.item, i.project, i.kind, i.name, i.author, i.visibility, i.number, i.deleted, i.text, i.editor,
                        i.changed_at
                 FROM sage_team.items i WHERE i.item = ANY (seen) ORDER BY array_position(seen, i.item);
END $$;

CREATE FUNCTION sage_team.audit_of(of_team TEXT, of_item UUID, most INTEGER)
RETURNS TABLE (at TIMESTAMPTZ, member TEXT, login TEXT, action TEXT, items UUID[], detail TEXT)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT a.at, a.member, a.login, a.action, a.items, a.detail FROM sage_team.audit a
    WHERE a.team = of_team AND (of_item IS NULL OR of_item = ANY (a.items)) ORDER BY a.id DESC LIMIT least(most, 10000)
$$;

CREATE FUNCTION sage_team.members_of(of_team TEXT)
RETURNS TABLE (member TEXT, projects TEXT[], is_admin BOOLEAN, added_by TEXT, added_at TIMESTAMPTZ)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT m.member, m.projects, m.is_admin, m.added_by, m.added_at FROM sage_team.members m
    WHERE m.team = of_team
      AND (sage_team.is_in(of_team) OR pg_has_role(sage_team.caller(), 'sage_team_owner', 'MEMBER')) ORDER BY m.member
$$;

CREATE FUNCTION sage_team.my_teams() RETURNS TABLE (team TEXT, projects TEXT[], is_admin BOOLEAN) LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT m.team, m.projects, m.is_admin FROM sage_team.members m WHERE m.member = sage_team.caller() ORDER BY m.team
$$;

-- An administrator of the team, or of the database, says who belongs to it.
CREATE FUNCTION sage_team.set_member(of_team TEXT, new_member TEXT, of_projects TEXT[], as_admin BOOLEAN) RETURNS VOID
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT (sage_team.is_admin(of_team) OR pg_has_role(sage_team.caller(), 'sage_team_owner', 'MEMBER')) THEN
        RAISE EXCEPTION 'only an administrator of the team may do that' USING ERRCODE = '42501';
    END IF;
    INSERT INTO sage_team.members (team, member, projects, is_admin, added_by)
    VALUES (of_team, new_member, of_projects, as_admin, sage_team.caller())
    ON CONFLICT (team, member) DO UPDATE SET projects = excluded.projects, is_admin = excluded.is_admin;
    PERFORM sage_team.note(of_team, 'member', '{}', format('%s: projects %s, administrator %s', new_member, of_projects, as_admin));
END $$;

CREATE FUNCTION sage_team.drop_member(of_team TEXT, old_member TEXT) RETURNS BOOLEAN
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT (sage_team.is_admin(of_team) OR pg_has_role(sage_team.caller(), 'sage_team_owner', 'MEMBER')) THEN
        RAISE EXCEPTION 'only an administrator of the team may do that' USING ERRCODE = '42501';
    END IF;
    DELETE FROM sage_team.members m WHERE m.team = of_team AND m.member = old_member;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM sage_team.note(of_team, 'member', '{}', format('%s: removed', old_member));
    RETURN true;
END $$;

REVOKE ALL ON ALL TABLES IN SCHEMA sage_team FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA sage_team FROM PUBLIC;
GRANT USAGE ON SCHEMA sage_team TO sage_team_member;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA sage_team TO sage_team_member;
-- Only the functions above write lines of the audit.
REVOKE EXECUTE ON FUNCTION sage_team.note(TEXT, TEXT, UUID[], TEXT), sage_team.note_version() FROM sage_team_member;
