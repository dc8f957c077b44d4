//! Conversations and a counter for the tests of the stores.

use epitome_kernel::types::{ContentId, EntryId, Image, Passage};
use epitome_kernel::{Blob, Counter, Departure, Store};
use epitome_store::Archive;
use epitome_store::{FallbackStore, Memory, Sqlite};

/// Four characters are a token.
pub(crate) struct Chars;

impl Counter for Chars {
    fn id(&self) -> &str {
        "chars/4"
    }

    fn count(&self, text: &str) -> u64 {
        text.chars().count().div_ceil(4) as u64
    }

    fn image(&self, _: &Image) -> u64 {
        0
    }
}

/// Runs a check against a fresh store of every kind.
pub(crate) fn each_store(check: impl Fn(&dyn Store)) {
    check(&Memory::new());
    let folder = tempfile::tempdir().unwrap();
    check(&Sqlite::open(&folder.path().join("epitome.db")).unwrap());
    check(&FallbackStore::new(Sqlite::open(&folder.path().join("other.db")).unwrap()));
}

/// Builds what leaves a prompt, entry by entry.
#[derive(Default)]
pub(crate) struct Conversation {
    departure: Departure,
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
        let (id, source) = (ContentId::of(&text), format!("{entry} {name}"));
        self.departure.blobs.push(Blob { id, source: source.clone(), text });
        self.departure.sources.push((entry, id, source));
        self.departure
            .passages
            .extend(texts.iter().map(|&text| Passage { entry, text: text.into() }));
        self
    }

    pub(crate) fn departure(self) -> Departure {
        self.departure
    }
}

/// Runs a check against a fresh store of every kind, as an archive.
pub(crate) fn each_archive(check: impl Fn(&dyn Archive)) {
    check(&Memory::new());
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(&folder.path().join("epitome.db")).unwrap();
    check(&store);
    assert_eq!(store.verify(false).unwrap(), [], "the store is sound afterwards");
    let store = Sqlite::open(&folder.path().join("other.db")).unwrap();
    let store = FallbackStore::new(store);
    check(&store);
    assert_eq!((store.moves(), store.outage()), (0, None), "the disk is not to blame for anything");
}
