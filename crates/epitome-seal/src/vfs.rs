//! The file system that the database asks: its own one, with what passes encrypted and decrypted.
//!
//! Invariant: pages and write-ahead files are encrypted as a whole, and no other file is opened: what
//! this does not know how to encrypt is not written. Locks, sizes and the shared index, which holds
//! numbers of pages alone, pass as they are. A key that was registered stays until the program ends,
//! since the database may ask at any time. Called by the database and by [`super::StoreSeal`].

#![expect(unsafe_code, reason = "the database takes a file system as a table of C functions")]

use std::ffi::{CString, c_int, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use rusqlite::ffi::{self, sqlite3_file, sqlite3_io_methods, sqlite3_vfs};

use super::key::StoreKey;
use super::layout::SealedKind;
use super::sealer::Sealer;

/// What a disk may promise that would have the database go past whole pages.
const UNPROMISED: c_int = ffi::SQLITE_IOCAP_BATCH_ATOMIC | ffi::SQLITE_IOCAP_SUBPAGE_READ;

/// A file system with the one that it stands before. The first field is what the database knows.
#[repr(C)]
struct SealedVfs {
    known: sqlite3_vfs,
    under: *mut sqlite3_vfs,
    sealer: Sealer,
}

/// An open file. The database reserves room for it and for the file of the system below, which stands
/// behind it. The first field is what the database knows.
#[repr(C, align(8))]
struct SealedFile {
    known: sqlite3_file,
    sealer: *const Sealer,
    kind: SealedKind,
}

/// A key with what stands for it.
struct RegisteredKey {
    key: StoreKey,
    sealer: &'static Sealer,
    name: &'static str,
}

/// The keys that the database knows.
static KEYS: Mutex<Vec<RegisteredKey>> = Mutex::new(Vec::new());

/// What encrypts with a key, and the name of its file system.
pub(crate) fn registered(key: &StoreKey) -> rusqlite::Result<(&'static Sealer, &'static str)> {
    let mut keys = KEYS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = keys.iter().find(|known| known.key == *key) {
        return Ok((known.sealer, known.name));
    }
    let name = format!("epitome-sealed-{}", keys.len());
    let (sealer, name) = register(name, Sealer::new(key)).map_err(|code| {
        rusqlite::Error::SqliteFailure(
            ffi::Error::new(code),
            Some("the database takes no file system that encrypts".to_owned()),
        )
    })?;
    keys.push(RegisteredKey { key: key.clone(), sealer, name });
    Ok((sealer, name))
}

fn register(name: String, sealer: Sealer) -> Result<(&'static Sealer, &'static str), c_int> {
    let name: &'static str = Box::leak(name.into_boxed_str());
    let shown = CString::new(name).map_err(|_| ffi::SQLITE_MISUSE)?.into_raw();
    // SAFETY: without a name the database gives its default system, which lives as long as the program.
    let under = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
    if under.is_null() {
        return Err(ffi::SQLITE_ERROR);
    }
    // SAFETY: it is not null, and nobody writes it while it is registered but for the link to the next.
    let mut known = unsafe { *under };
    let own = c_int::try_from(size_of::<SealedFile>()).map_err(|_| ffi::SQLITE_MISUSE)?;
    // All but opening is the system's own: what it is asked then is told by arguments alone.
    known.szOsFile += own;
    known.pNext = ptr::null_mut();
    known.zName = shown;
    known.xOpen = Some(open);
    let vfs = Box::into_raw(Box::new(SealedVfs { known, under, sealer }));
    // SAFETY: it was just made, and is never freed.
    unsafe {
        (*vfs).known.pAppData = vfs.cast();
        match ffi::sqlite3_vfs_register(&raw mut (*vfs).known, 0) {
            ffi::SQLITE_OK => Ok((&(*vfs).sealer, name)),
            code => Err(code),
        }
    }
}

/// The file of the system below.
///
/// # Safety
///
/// `file` is one that [`open`] was given.
unsafe fn under(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: the database reserved as much as `szOsFile` says, which is both.
    unsafe { file.byte_add(size_of::<SealedFile>()) }
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut sqlite3_file,
    flags: c_int,
    told: *mut c_int,
) -> c_int {
    // SAFETY: the database gives a system that was registered, whose own data is the whole of it, and
    // room for a file. It closes the file below only where this one has methods.
    unsafe {
        (*file).pMethods = ptr::null();
        let kind = match flags {
            _ if flags & ffi::SQLITE_OPEN_MAIN_DB != 0 => SealedKind::Database,
            _ if flags & ffi::SQLITE_OPEN_WAL != 0 => SealedKind::Log,
            _ => return ffi::SQLITE_CANTOPEN,
        };
        let vfs: *const SealedVfs = (*vfs).pAppData.cast();
        let Some(open) = (*(*vfs).under).xOpen else { return ffi::SQLITE_CANTOPEN };
        let below = under(file);
        let code = open((*vfs).under, name, below, flags, told);
        if (*below).pMethods.is_null() {
            return code;
        }
        let sealer = &raw const (*vfs).sealer;
        file.cast::<SealedFile>().write(SealedFile {
            known: sqlite3_file { pMethods: &METHODS },
            sealer,
            kind,
        });
        code
    }
}

unsafe extern "C" fn read(
    file: *mut sqlite3_file,
    buffer: *mut c_void,
    amount: c_int,
    at: ffi::sqlite3_int64,
) -> c_int {
    let (Ok(amount), Ok(at)) = (usize::try_from(amount), u64::try_from(at)) else {
        return ffi::SQLITE_IOERR_READ;
    };
    // SAFETY: the database gives an open file and a buffer of that size, which nobody else has.
    let (own, asked) = unsafe {
        let own = &*file.cast::<SealedFile>();
        (own, std::slice::from_raw_parts_mut(buffer.cast::<u8>(), amount))
    };
    let cover = own.kind.cover(at..at + amount as u64);
    let mut units = vec![0; usize::try_from(cover.end - cover.start).unwrap_or_default()];
    // SAFETY: the file below is open as this one is.
    let there = match unsafe { fill(under(file), &mut units, cover.start) } {
        Ok(there) => there,
        Err(code) => return code,
    };
    // SAFETY: it lives as long as the program.
    unsafe { &*own.sealer }.open(own.kind, cover.start, &mut units[..there]);
    let skipped = usize::try_from(at - cover.start).unwrap_or_default();
    asked.copy_from_slice(&units[skipped..skipped + amount]);
    if there < skipped + amount { ffi::SQLITE_IOERR_SHORT_READ } else { ffi::SQLITE_OK }
}

/// Reads as much as is there, and says how much that is; nothing stands behind it.
///
/// # Safety
///
/// `file` is an open file of the system below.
unsafe fn fill(file: *mut sqlite3_file, units: &mut [u8], at: u64) -> Result<usize, c_int> {
    let Ok(at) = i64::try_from(at) else { return Err(ffi::SQLITE_IOERR_READ) };
    // SAFETY: as above; the buffers are this function's own, and as long as it says.
    unsafe {
        let methods = &*(*file).pMethods;
        let (Some(read), Some(size)) = (methods.xRead, methods.xFileSize) else {
            return Err(ffi::SQLITE_IOERR_READ);
        };
        let part = |units: &mut [u8]| {
            let length = c_int::try_from(units.len()).unwrap_or_default();
            read(file, units.as_mut_ptr().cast(), length, at)
        };
        match part(units) {
            ffi::SQLITE_OK => return Ok(units.len()),
            ffi::SQLITE_IOERR_SHORT_READ => {}
            code => return Err(code),
        }
        // It does not say how much it read.
        let mut all = 0;
        let code = size(file, &raw mut all);
        if code != ffi::SQLITE_OK {
            return Err(code);
        }
        let there = usize::try_from(all - at).unwrap_or_default().min(units.len());
        units[there..].fill(0);
        match part(&mut units[..there]) {
            ffi::SQLITE_OK => Ok(there),
            code => Err(code),
        }
    }
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    buffer: *const c_void,
    amount: c_int,
    at: ffi::sqlite3_int64,
) -> c_int {
    let (Ok(length), Ok(place)) = (usize::try_from(amount), u64::try_from(at)) else {
        return ffi::SQLITE_IOERR_WRITE;
    };
    // SAFETY: the database gives an open file and a buffer of that size, which stays as it is. What
    // encrypts lives as long as the program.
    unsafe {
        let own = &*file.cast::<SealedFile>();
        let mut units = std::slice::from_raw_parts(buffer.cast::<u8>(), length).to_vec();
        if !(*own.sealer).seal(own.kind, place, &mut units) {
            return ffi::SQLITE_IOERR_WRITE;
        }
        let below = under(file);
        match (*(*below).pMethods).xWrite {
            Some(write) => write(below, units.as_ptr().cast(), amount, at),
            None => ffi::SQLITE_IOERR_WRITE,
        }
    }
}

unsafe extern "C" fn device(file: *mut sqlite3_file) -> c_int {
    // SAFETY: the database gives an open file, and the one below is open as well.
    unsafe {
        let below = under(file);
        (*(*below).pMethods).xDeviceCharacteristics.map_or(0, |told| told(below) & !UNPROMISED)
    }
}

unsafe extern "C" fn barrier(file: *mut sqlite3_file) {
    // SAFETY: the database gives an open file, and the one below is open as well.
    unsafe {
        let below = under(file);
        if let Some(barrier) = (*(*below).pMethods).xShmBarrier {
            barrier(below);
        }
    }
}

/// Functions that hand over to the file below.
macro_rules! handed_over {
    ($($name:ident: $method:ident($($given:ident: $kind:ty),*) else $code:ident;)*) => {$(
        unsafe extern "C" fn $name(file: *mut sqlite3_file, $($given: $kind),*) -> c_int {
            // SAFETY: the database gives an open file, and the one below is open as well.
            unsafe {
                let below = under(file);
                match (*(*below).pMethods).$method {
                    Some(method) => method(below, $($given),*),
                    None => ffi::$code,
                }
            }
        }
    )*};
}

handed_over! {
    close: xClose() else SQLITE_OK;
    truncate: xTruncate(size: ffi::sqlite3_int64) else SQLITE_IOERR_TRUNCATE;
    sync: xSync(flags: c_int) else SQLITE_IOERR_FSYNC;
    size: xFileSize(size: *mut ffi::sqlite3_int64) else SQLITE_IOERR_FSTAT;
    lock: xLock(level: c_int) else SQLITE_IOERR_LOCK;
    unlock: xUnlock(level: c_int) else SQLITE_IOERR_UNLOCK;
    reserved: xCheckReservedLock(told: *mut c_int) else SQLITE_IOERR_CHECKRESERVEDLOCK;
    control: xFileControl(what: c_int, with: *mut c_void) else SQLITE_NOTFOUND;
    sector: xSectorSize() else SQLITE_OK;
    map: xShmMap(
        page: c_int, size: c_int, extend: c_int, told: *mut *mut c_void
    ) else SQLITE_IOERR_SHMMAP;
    share: xShmLock(offset: c_int, count: c_int, flags: c_int) else SQLITE_IOERR_SHMLOCK;
    unmap: xShmUnmap(delete: c_int) else SQLITE_OK;
}

/// Version 2 of the table: without the functions that map a file into memory as it is.
static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(reserved),
    xFileControl: Some(control),
    xSectorSize: Some(sector),
    xDeviceCharacteristics: Some(device),
    xShmMap: Some(map),
    xShmLock: Some(share),
    xShmBarrier: Some(barrier),
    xShmUnmap: Some(unmap),
    xFetch: None,
    xUnfetch: None,
};
