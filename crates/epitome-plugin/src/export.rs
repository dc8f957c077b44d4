//! What a plugin exports that is a module of WebAssembly.
//!
//! Invariant: the host writes a call where `alloc` says, and reads the answer where `answer` says. A
//! module is asked once, so nothing of it is given back.

/// Makes a plugin a module: exports what a host calls, in a library of the kind `cdylib` that is
/// compiled for `wasm32-unknown-unknown`.
///
/// ```ignore
/// epitome_plugin::export_module!(Own);
/// ```
#[macro_export]
macro_rules! export_module {
    ($plugin:expr) => {
        static CALL: ::std::sync::Mutex<::std::vec::Vec<u8>> =
            ::std::sync::Mutex::new(::std::vec::Vec::new());

        /// Room for a call.
        #[unsafe(no_mangle)]
        pub extern "C" fn alloc(len: usize) -> *mut u8 {
            let mut call = CALL.lock().unwrap_or_else(::std::sync::PoisonError::into_inner);
            call.resize(len, 0);
            call.as_mut_ptr()
        }

        /// The answer to the call that was written there: its place and its length.
        #[unsafe(no_mangle)]
        pub extern "C" fn answer(_at: usize, _len: usize) -> u64 {
            let call = CALL.lock().unwrap_or_else(::std::sync::PoisonError::into_inner);
            let said = $crate::serve_line(&$plugin, ::std::hint::black_box(&call)).leak();
            ((said.as_ptr() as u64) << 32) | said.len() as u64
        }
    };
}
