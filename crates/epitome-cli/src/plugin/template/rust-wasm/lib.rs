//! The plugin as a module of WebAssembly.

mod own;

epitome_plugin::export_module!(own::Own);
