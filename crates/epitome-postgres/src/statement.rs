//! The statements, and what stands in their places.
//!
//! Invariant: each names its scope first, and is whole by itself: no state of a connection is relied on.

use epitome_store::{LineEnd, LinePosition, LogBatch, LogRecord, SearchPiece, StoredBlob};
use postgres::types::{ToSql, Type};

/// A value with its type, as a statement takes it.
pub(crate) type Place<'a> = (&'a (dyn ToSql + Sync), Type);

/// Makes a scope, where there is none of its name.
pub(crate) const NEW_SCOPE: &str =
    "INSERT INTO epitome_scope (name) VALUES ($1) ON CONFLICT DO NOTHING RETURNING id";

/// The records of lines, of each from a number on.
pub(crate) const READ: &str = "
    SELECT record.seq, record.kind, record.key, record.stamp, record.body, record.sum, tail.place
    FROM epitome_scope scope
    CROSS JOIN unnest($2, $3) WITH ORDINALITY AS tail (line, first, place)
    JOIN epitome_line line ON line.scope = scope.id AND line.name = tail.line
    JOIN epitome_record record
        ON record.scope = line.scope AND record.line = line.id AND record.seq >= tail.first
    WHERE scope.name = $1
    ORDER BY tail.place, record.seq";

/// The stamp of the record of a line that ends a batch, where it is there.
pub(crate) const WRITTEN: &str = "
    SELECT record.stamp
    FROM epitome_scope scope
    JOIN epitome_line line ON line.scope = scope.id
    JOIN epitome_record record ON record.scope = line.scope AND record.line = line.id
    WHERE scope.name = $1 AND line.name = $2 AND record.seq = $3 AND record.sum = $4";

pub(crate) const SCOPES: &str = "
    SELECT name FROM epitome_scope scope
    WHERE EXISTS (SELECT FROM epitome_line line WHERE line.scope = scope.id)
    ORDER BY name";

pub(crate) const LINES: &str = "
    SELECT line.name
    FROM epitome_scope scope JOIN epitome_line line ON line.scope = scope.id
    WHERE scope.name = $1
    ORDER BY line.id";

/// Where a line ends, as it is kept beside its records.
pub(crate) const END: &str = "
    SELECT line.seq, line.sum
    FROM epitome_scope scope JOIN epitome_line line ON line.scope = scope.id
    WHERE scope.name = $1 AND line.name = $2";

/// Of each key the lines that have it, those that began last first.
pub(crate) const FIND: &str = "
    SELECT wanted.place, found.name
    FROM unnest($2, $3) WITH ORDINALITY AS wanted (key, most, place)
    CROSS JOIN LATERAL (
        SELECT line.id, line.name
        FROM epitome_key known
        JOIN epitome_line line ON line.scope = known.scope AND line.id = known.line
        WHERE known.scope = (SELECT id FROM epitome_scope WHERE name = $1)
            AND known.key = wanted.key
        ORDER BY known.line DESC
        LIMIT wanted.most
    ) AS found
    ORDER BY wanted.place, found.id DESC";

/// The blobs of one line in ranges of ids.
pub(crate) const BLOBS_OF_LINE: &str = "
    SELECT DISTINCT ON (blob.place) line.name, blob.id, blob.source, blob.bytes
    FROM epitome_scope scope
    JOIN epitome_line line ON line.scope = scope.id
    CROSS JOIN unnest($3, $4) AS wanted (first, last)
    JOIN epitome_blob blob
        ON blob.scope = line.scope AND blob.line = line.id
        AND blob.id BETWEEN wanted.first AND wanted.last
    WHERE scope.name = $1 AND line.name = $2
    ORDER BY blob.place";

/// The same of all lines of a scope.
pub(crate) const BLOBS: &str = "
    SELECT DISTINCT ON (blob.place) line.name, blob.id, blob.source, blob.bytes
    FROM epitome_scope scope
    CROSS JOIN unnest($2, $3) AS wanted (first, last)
    JOIN epitome_blob blob
        ON blob.scope = scope.id AND blob.id BETWEEN wanted.first AND wanted.last
    JOIN epitome_line line ON line.scope = blob.scope AND line.id = blob.line
    WHERE scope.name = $1
    ORDER BY blob.place";

/// The pieces of a scope, or of one line of it, that hold any of some terms.
pub(crate) const PIECES: &str = "
    SELECT line.name, piece.id, piece.original, piece.source, piece.first, piece.last, piece.body
    FROM epitome_scope scope
    JOIN epitome_line line ON line.scope = scope.id
    JOIN epitome_piece piece ON piece.scope = line.scope AND piece.line = line.id
    WHERE scope.name = $1 AND ($2 IS NULL OR line.name = $2) AND piece.terms && $3
    ORDER BY piece.place";

/// The newest pieces of a scope, or of one line of it, whatever they say.
pub(crate) const NEWEST_PIECES: &str = "
    SELECT * FROM (
        SELECT line.name, piece.id, piece.original, piece.source, piece.first, piece.last,
            piece.body, piece.place
        FROM epitome_scope scope
        JOIN epitome_line line ON line.scope = scope.id
        JOIN epitome_piece piece ON piece.scope = line.scope AND piece.line = line.id
        WHERE scope.name = $1 AND ($2 IS NULL OR line.name = $2)
        ORDER BY piece.place DESC
        LIMIT $3
    ) AS newest
    ORDER BY place";

/// What an append begins with: the scope, where the line that the batch rests on ends as it has to.
const GIVEN: &str = "
    WITH given AS (
        SELECT scope.id FROM epitome_scope scope
        LEFT JOIN epitome_line line ON line.scope = scope.id AND line.name = $22
        WHERE scope.name = $1 AND COALESCE(line.seq = $23 AND line.sum = $24, $23 = 0)
    ), moved AS (";

/// The line moves on from where it is expected to end.
const MOVE_ON: &str = "
        UPDATE epitome_line SET seq = $3, sum = $4
        WHERE scope = (SELECT id FROM given) AND name = $2 AND seq = $5 AND sum = $6
        RETURNING id, scope, nextval('epitome_stamp') AS stamp
    )";

/// The same of a line that is not there yet.
const BEGIN: &str = "
        INSERT INTO epitome_line (scope, name, seq, sum) SELECT id, $2, $3, $4 FROM given
        ON CONFLICT DO NOTHING
        RETURNING id, scope, nextval('epitome_stamp') AS stamp
    )";

/// What hangs on it: nothing is added where the line did not move.
const ADD: &str = ", records AS (
        INSERT INTO epitome_record (line, scope, seq, kind, key, stamp, body, sum)
        SELECT moved.id, moved.scope, new.seq, new.kind, new.key, moved.stamp, new.body, new.sum
        FROM moved, unnest($7, $8, $9, $10, $11) AS new (seq, kind, key, body, sum)
    ), keys AS (
        INSERT INTO epitome_key (scope, key, line)
        SELECT DISTINCT moved.scope, new.key, moved.id FROM moved, unnest($9) AS new (key)
        WHERE new.key IS NOT NULL
        ON CONFLICT DO NOTHING
    ), blobs AS (
        INSERT INTO epitome_blob (line, id, scope, source, bytes)
        SELECT moved.id, new.id, moved.scope, new.source, new.bytes
        FROM moved, unnest($12, $13, $14) WITH ORDINALITY AS new (id, source, bytes, place)
        ORDER BY new.place
        ON CONFLICT DO NOTHING
    ), pieces AS (
        INSERT INTO epitome_piece
            (line, id, scope, original, source, first, last, body, terms)
        SELECT moved.id, new.id, moved.scope, new.original, new.source, new.first, new.last,
            new.body, string_to_array(new.terms, ' ')
        FROM moved, unnest($15, $16, $17, $18, $19, $20, $21) WITH ORDINALITY
            AS new (id, original, source, first, last, body, terms, place)
        ORDER BY new.place
        ON CONFLICT DO NOTHING
    )
    SELECT stamp FROM moved";

/// What an erasure of a line's contents does, each a statement of one transaction.
pub(crate) const ERASE_BODIES: &str =
    "UPDATE epitome_record SET body = NULL WHERE scope = $1 AND line = $2 AND seq = ANY ($3)";
pub(crate) const ERASE_PIECES: &str = "
    DELETE FROM epitome_piece
    WHERE scope = $1 AND line = $2
        AND (original = ANY ($3) OR (first IS NULL AND id = ANY ($3)))";
pub(crate) const ERASE_BLOBS: &str =
    "DELETE FROM epitome_blob WHERE scope = $1 AND line = $2 AND id = ANY ($3)";

/// The numbers of a scope and of a line of it, which nobody else adds to before the transaction ends.
pub(crate) const HOLD_LINE: &str = "
    SELECT line.scope, line.id
    FROM epitome_scope scope JOIN epitome_line line ON line.scope = scope.id
    WHERE scope.name = $1 AND line.name = $2
    FOR UPDATE OF line";

/// What makes anew what is kept of a line beside its records: where it ends, and its keys.
/// A checksum that cannot be read is one of zeros, as it is read.
pub(crate) const REBUILD_LINE: [&str; 3] = [
    "UPDATE epitome_line line SET seq = last.seq,
         sum = CASE length(last.sum) WHEN 16 THEN last.sum ELSE decode(repeat('00', 16), 'hex') END
     FROM (
         SELECT seq, sum FROM epitome_record WHERE scope = $1 AND line = $2
         ORDER BY seq DESC LIMIT 1
     ) AS last
     WHERE line.scope = $1 AND line.id = $2",
    "DELETE FROM epitome_key WHERE scope = $1 AND line = $2",
    "INSERT INTO epitome_key (scope, key, line)
     SELECT DISTINCT scope, key, line FROM epitome_record
     WHERE scope = $1 AND line = $2 AND key IS NOT NULL",
];

/// The terms of pieces of a line.
pub(crate) const REBUILD_TERMS: &str = "
    UPDATE epitome_piece piece SET terms = string_to_array(new.terms, ' ')
    FROM unnest($3::bytea[], $4::text[]) AS new (id, terms)
    WHERE piece.scope = $1 AND piece.line = $2 AND piece.id = new.id";

/// What an erasure of a whole line removes.
pub(crate) const REMOVE_LINE: [&str; 5] = [
    "DELETE FROM epitome_line WHERE scope = $1 AND id = $2",
    "DELETE FROM epitome_record WHERE scope = $1 AND line = $2",
    "DELETE FROM epitome_key WHERE scope = $1 AND line = $2",
    "DELETE FROM epitome_blob WHERE scope = $1 AND line = $2",
    "DELETE FROM epitome_piece WHERE scope = $1 AND line = $2",
];

/// A batch, taken apart into the columns that one statement adds.
pub(crate) struct AppendStatement {
    scope: String,
    line: String,
    pub(crate) is_first: bool,
    before: PlacedEnd,
    end: PlacedEnd,
    /// The line that it rests on, and where that has to end; none has to be where it began.
    given: Option<String>,
    given_end: PlacedEnd,
    records: RecordColumns,
    blobs: BlobColumns,
    pieces: PieceColumns,
}

/// Where a line ends.
struct PlacedEnd {
    seq: i64,
    sum: Vec<u8>,
}

impl From<LinePosition> for PlacedEnd {
    fn from(position: LinePosition) -> Self {
        Self { seq: number(position.seq), sum: position.sum.to_vec() }
    }
}

#[derive(Default)]
struct RecordColumns {
    seqs: Vec<i64>,
    kinds: Vec<i32>,
    keys: Vec<Option<Vec<u8>>>,
    bodies: Vec<Option<Vec<u8>>>,
    sums: Vec<Vec<u8>>,
}

#[derive(Default)]
struct BlobColumns {
    ids: Vec<Vec<u8>>,
    sources: Vec<Option<Vec<u8>>>,
    bytes: Vec<Vec<u8>>,
}

#[derive(Default)]
struct PieceColumns {
    ids: Vec<Vec<u8>>,
    originals: Vec<Vec<u8>>,
    sources: Vec<Vec<u8>>,
    firsts: Vec<Option<i64>>,
    lasts: Vec<Option<i64>>,
    texts: Vec<Vec<u8>>,
    terms: Vec<String>,
}

impl AppendStatement {
    /// The statement that adds a batch; none for a batch without a record, which nothing would tell of.
    pub(crate) fn new(scope: &str, batch: LogBatch) -> Option<Self> {
        let LogBatch { line, after, given, records, blobs, pieces } = batch;
        let end = records.last()?.position();
        let given = given.map(|LineEnd { line, position }| (line, position));
        let (given, given_end) = given.unzip();
        let mut made = Self {
            scope: scope.to_owned(),
            line,
            is_first: after.seq == 0,
            before: after.into(),
            end: end.into(),
            given,
            given_end: given_end.unwrap_or_default().into(),
            records: RecordColumns::default(),
            blobs: BlobColumns::default(),
            pieces: PieceColumns::default(),
        };
        records.into_iter().for_each(|record| made.records.push(record));
        blobs.into_iter().for_each(|blob| made.blobs.push(blob));
        pieces.into_iter().for_each(|piece| made.pieces.push(piece));
        Some(made)
    }

    /// The text of the statement.
    pub(crate) fn text(&self) -> String {
        format!("{GIVEN}{}{ADD}", if self.is_first { BEGIN } else { MOVE_ON })
    }

    /// What stands in its places.
    pub(crate) fn places(&self) -> [Place<'_>; 24] {
        let Self { scope, line, before, end, given, given_end, .. } = self;
        let Self { records, blobs, pieces, .. } = self;
        [
            (scope, Type::TEXT),
            (line, Type::TEXT),
            (&end.seq, Type::INT8),
            (&end.sum, Type::BYTEA),
            (&before.seq, Type::INT8),
            (&before.sum, Type::BYTEA),
            (&records.seqs, Type::INT8_ARRAY),
            (&records.kinds, Type::INT4_ARRAY),
            (&records.keys, Type::BYTEA_ARRAY),
            (&records.bodies, Type::BYTEA_ARRAY),
            (&records.sums, Type::BYTEA_ARRAY),
            (&blobs.ids, Type::BYTEA_ARRAY),
            (&blobs.sources, Type::BYTEA_ARRAY),
            (&blobs.bytes, Type::BYTEA_ARRAY),
            (&pieces.ids, Type::BYTEA_ARRAY),
            (&pieces.originals, Type::BYTEA_ARRAY),
            (&pieces.sources, Type::BYTEA_ARRAY),
            (&pieces.firsts, Type::INT8_ARRAY),
            (&pieces.lasts, Type::INT8_ARRAY),
            (&pieces.texts, Type::BYTEA_ARRAY),
            (&pieces.terms, Type::TEXT_ARRAY),
            (given, Type::TEXT),
            (&given_end.seq, Type::INT8),
            (&given_end.sum, Type::BYTEA),
        ]
    }

    /// What stands in the places of [`WRITTEN`] for its last record.
    pub(crate) fn end(&self) -> [Place<'_>; 4] {
        [
            (&self.scope, Type::TEXT),
            (&self.line, Type::TEXT),
            (&self.end.seq, Type::INT8),
            (&self.end.sum, Type::BYTEA),
        ]
    }

    /// The name of its scope.
    pub(crate) fn scope(&self) -> &String {
        &self.scope
    }
}

impl RecordColumns {
    fn push(&mut self, record: LogRecord) {
        self.seqs.push(number(record.seq));
        self.kinds.push(record.kind.into());
        self.keys.push(record.key.map(|key| key.0.to_vec()));
        self.bodies.push(record.body);
        self.sums.push(record.sum.to_vec());
    }
}

impl BlobColumns {
    fn push(&mut self, blob: StoredBlob) {
        self.ids.push(blob.id.0.to_vec());
        self.sources.push(blob.source.map(String::into_bytes));
        self.bytes.push(blob.bytes);
    }
}

impl PieceColumns {
    fn push(&mut self, piece: SearchPiece) {
        self.terms.push(joined_terms(&piece));
        self.ids.push(piece.id.0.to_vec());
        self.originals.push(piece.original.0.to_vec());
        self.sources.push(piece.source.into_bytes());
        self.firsts.push(piece.span.map(|span| number(span[0])));
        self.lasts.push(piece.span.map(|span| number(span[1])));
        self.texts.push(piece.text.into_bytes());
    }
}

/// A number as the database keeps it.
pub(crate) fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The terms of a piece, each once; none of them holds a space.
pub(crate) fn joined_terms(piece: &SearchPiece) -> String {
    let mut terms = piece.terms();
    terms.sort_unstable();
    terms.dedup();
    terms.join(" ")
}
