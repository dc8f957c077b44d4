//! Conversations and a counter for the tests of the stores.

use epitome_kernel::types::{ContentId, EntryId, ImagePart, Passage};
use epitome_kernel::{Eviction, OriginalStore, StoredText, TokenCounter};
use epitome_store::SessionArchive;
use epitome_store::{FallbackStore, MemoryStore, SqliteStore};

/// Four characters are a token.
pub(crate) struct Chars;

impl TokenCounter for Chars {
    fn id(&self) -> &str {
        "chars/4"
    }

    fn count(&self, text: &str) -> u64 {
        text.chars().count().div_ceil(4) as u64
    }

    fn image(&self, _: &ImagePart) -> u64 {
        0
    }
}

/// Runs a check against a fresh store of every kind.
pub(crate) fn each_store(check: impl Fn(&dyn OriginalStore)) {
    check(&MemoryStore::new());
    let folder = tempfile::tempdir().unwrap();
    check(&SqliteStore::open(&folder.path().join("epitome.db")).unwrap());
    check(&FallbackStore::new(SqliteStore::open(&folder.path().join("other.db")).unwrap()));
    #[cfg(feature = "seal")]
    check(&crate::sealed::open(&folder.path().join("sealed.db")));
}

/// Builds what leaves a prompt, entry by entry.
#[derive(Default)]
pub(crate) struct Conversation {
    departure: Eviction,
}

impl Conversation {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// An entry that is one passage.
    pub(crate) fn entry(self, name: &str, text: &str) -> Self {
        self.cut(name, &[text])
    }

    /// An entry that is several passages, one a line.
    pub(crate) fn cut(mut self, name: &str, texts: &[&str]) -> Self {
        let entry = EntryId(u32::try_from(self.departure.sources.len()).unwrap());
        let text = texts.join("\n");
        let (id, source) = (ContentId::for_text(&text), format!("{entry} {name}"));
        self.departure.blobs.push(StoredText { id, source: source.clone(), text });
        self.departure.sources.push((entry, id, source));
        self.departure
            .passages
            .extend(texts.iter().map(|&text| Passage { entry, text: text.into() }));
        self
    }

    pub(crate) fn departure(self) -> Eviction {
        self.departure
    }
}

/// Runs a check against a fresh store of every kind, as an archive.
pub(crate) fn each_archive(check: impl Fn(&dyn SessionArchive)) {
    check(&MemoryStore::new());
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("epitome.db")).unwrap();
    check(&store);
    assert_eq!(store.verify(false).unwrap(), [], "the store is sound afterwards");
    #[cfg(feature = "seal")]
    {
        let store = crate::sealed::open(&folder.path().join("sealed.db"));
        check(&store);
        assert_eq!(store.verify(false).unwrap(), [], "the encrypted store is sound afterwards");
    }
    let store = SqliteStore::open(&folder.path().join("other.db")).unwrap();
    let store = FallbackStore::new(store);
    check(&store);
    assert_eq!((store.moves(), store.outage()), (0, None), "the disk is not to blame for anything");
}
