//! A module that was read, checked and translated, and one exchange with a new instance of it.
//!
//! Invariant: what is loaded imports nothing and exports what the host calls; nothing of one exchange
//! is left for the next. Used by [`super::PluginModule`].

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::path::Path;

use wasmi::errors::{ErrorKind, InstantiationError, MemoryError};
use wasmi::{
    CompilationMode, Config, EnforcedLimits, Engine, Error, ExternType, FuncType, Instance, Module,
    Store, StoreLimits, StoreLimitsBuilder, TrapCode, ValType,
};

use super::ModuleLimits;
use crate::host::error::PluginErrorCause;
use crate::host::lines::shown;
use crate::protocol::{HostMessage, PluginMessage};

/// The exports that the host needs.
const MEMORY: &str = "memory";
const ALLOC: &str = "alloc";
const ANSWER: &str = "answer";

/// Tables of an instance, and elements of each.
const TABLES: usize = 16;
const TABLE: usize = 1 << 16;

/// What a module in the binary format begins with.
const MAGIC: &[u8] = b"\0asm";
/// How the file of one in the text format is called.
const TEXT: &str = "wat";

/// A module that may be asked.
#[derive(Debug)]
pub(super) struct LoadedModule(Module);

impl LoadedModule {
    /// Reads a file. Nothing of it runs.
    pub(super) fn read(file: &Path, limits: &ModuleLimits) -> Result<Self, PluginErrorCause> {
        let bytes = bytes(file, limits.file).map_err(|error| error.to_string());
        let loaded = bytes.and_then(|bytes| Self::new(file, &bytes));
        loaded.map_err(|reason| {
            let file = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            PluginErrorCause::Unloadable { file, reason }
        })
    }

    fn new(file: &Path, bytes: &[u8]) -> Result<Self, String> {
        let is_text = file.extension().is_some_and(|ending| ending == TEXT);
        if !is_text && !bytes.starts_with(MAGIC) {
            return Err(
                "expected a module of WebAssembly, which begins with `\\0asm`; one in the \
                        text format is called `.wat`"
                    .to_owned(),
            );
        }
        let module = Module::new(&Engine::new(&config()), bytes).map_err(|e| on_one_line(&e))?;
        if let Some(import) = module.imports().next() {
            return Err(format!(
                "it imports `{}.{}`; a module may import nothing",
                import.module(),
                import.name()
            ));
        }
        let function =
            |params: &[ValType], result: ValType| FuncType::new(params.iter().copied(), [result]);
        for (name, expected) in [
            (ALLOC, function(&[ValType::I32], ValType::I32)),
            (ANSWER, function(&[ValType::I32, ValType::I32], ValType::I64)),
        ] {
            let found = module.get_export(name);
            if !matches!(&found, Some(ExternType::Func(found)) if *found == expected) {
                let params = vec!["i32"; expected.params().len()].join(", ");
                let result = if name == ALLOC { "i32" } else { "i64" };
                let found = if found.is_some() { "something else of that name" } else { "none" };
                return Err(format!(
                    "expected the exported function `{name}({params}) -> {result}`, found {found}"
                ));
            }
        }
        if !matches!(module.get_export(MEMORY), Some(ExternType::Memory(_))) {
            return Err(format!("expected the exported memory `{MEMORY}`, found none"));
        }
        Ok(Self(module))
    }

    /// Says one line to a new instance, and hears one.
    pub(super) fn exchange(
        &self,
        asked: &HostMessage,
        limits: &ModuleLimits,
    ) -> Result<PluginMessage, PluginErrorCause> {
        let line =
            serde_json::to_vec(asked).map_err(|error| PluginErrorCause::Unsayable { error })?;
        let mut store = Store::new(self.0.engine(), bounds(limits.memory));
        store.limiter(|bounds| bounds);
        let said = self.run(&mut store, &line, limits);
        let said = said.map_err(|error| match error {
            ModuleEnd::Stopped(error) => stopped(&error, limits),
            ModuleEnd::Cause(cause) => cause,
        })?;
        serde_json::from_slice(&said)
            .map_err(|_| PluginErrorCause::NoMessage { found: shown(&said) })
    }

    /// Has an instance answer one line.
    fn run(
        &self,
        store: &mut Store<StoreLimits>,
        line: &[u8],
        limits: &ModuleLimits,
    ) -> Result<Vec<u8>, ModuleEnd> {
        store.set_fuel(limits.fuel)?;
        let instance = Instance::new(&mut *store, &self.0, &[])?;
        let alloc = instance.get_typed_func::<u32, u32>(&*store, ALLOC)?;
        let answer = instance.get_typed_func::<(u32, u32), u64>(&*store, ANSWER)?;
        // Both were there when it was loaded.
        let memory = instance.get_memory(&*store, MEMORY).ok_or_else(|| Error::new("no memory"))?;
        let len = u32::try_from(line.len()).map_err(|_| Error::new("the call is too long"))?;
        let at = alloc.call(&mut *store, len)?;
        let outside = |at: u32, len: u32, size: usize| {
            ModuleEnd::Cause(PluginErrorCause::Outside { at, len, size })
        };
        let size = memory.data_size(&*store);
        memory.write(&mut *store, at as usize, line).map_err(|_| outside(at, len, size))?;
        let said = answer.call(&mut *store, (at, len))?;
        let [at, len] = [(said >> 32) as u32, said as u32];
        let data = memory.data(&*store);
        let end = (at as usize).saturating_add(len as usize);
        let said = data.get(at as usize..end).ok_or_else(|| outside(at, len, data.len()))?;
        match said.len() > limits.answer {
            true => Err(ModuleEnd::Cause(PluginErrorCause::TooLong {
                most: limits.answer,
                line: shown(&said[..limits.answer.min(400)]),
            })),
            false => Ok(said.to_vec()),
        }
    }
}

/// Why an instance gave no answer.
enum ModuleEnd {
    /// The engine stopped it.
    Stopped(Error),
    /// What it gave is none.
    Cause(PluginErrorCause),
}

impl From<Error> for ModuleEnd {
    fn from(error: Error) -> Self {
        Self::Stopped(error)
    }
}

/// Why the engine stopped an instance.
fn stopped(error: &Error, limits: &ModuleLimits) -> PluginErrorCause {
    let memory = PluginErrorCause::Memory { most: limits.memory };
    match error.kind() {
        ErrorKind::TrapCode(TrapCode::OutOfFuel) => PluginErrorCause::Fuel { most: limits.fuel },
        ErrorKind::TrapCode(TrapCode::GrowthOperationLimited)
        | ErrorKind::Instantiation(InstantiationError::FailedToInstantiateMemory(
            MemoryError::ResourceLimiterDeniedAllocation,
        )) => memory,
        _ => PluginErrorCause::Trapped { reason: on_one_line(error) },
    }
}

/// What an instance may take. One that is refused more memory is stopped: what it would do without is
/// anybody's guess.
fn bounds(memory: usize) -> StoreLimits {
    StoreLimitsBuilder::new()
        .memory_size(memory)
        .table_elements(TABLE)
        .tables(TABLES)
        .instances(1)
        .memories(1)
        .trap_on_grow_failure(true)
        .build()
}

/// The engine: no part of it knows a clock or chance, so a module's answer depends on the call alone.
fn config() -> Config {
    let mut config = Config::default();
    config
        .consume_fuel(true)
        // What is translated later would be paid for by whoever asks first.
        .compilation_mode(CompilationMode::Eager)
        .enforced_limits(EnforcedLimits::strict())
        .ignore_custom_sections(true)
        .wasm_memory64(false)
        .wasm_multi_memory(false);
    config
}

/// The bytes of a file that is not too large.
fn bytes(file: &Path, most: u64) -> io::Result<Vec<u8>> {
    let opened = OpenOptions::new().read(true).open(file)?;
    // What is no file has no end, or none that anybody can wait for.
    if !opened.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    opened.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::Error::other(format!("it is larger than {} MiB", most >> 20))),
        false => Ok(bytes),
    }
}

/// What the engine says, on one line, with the place in a text.
fn on_one_line(error: &Error) -> String {
    let said = error.to_string();
    let mut lines = said.lines();
    let what = shown(lines.next().unwrap_or_default().as_bytes());
    // `--> <anon>:12:5`
    let place = lines.find_map(|line| line.trim_start().strip_prefix("--> "));
    match place.map(|place| place.rsplit(':').take(2).collect::<Vec<_>>()).as_deref() {
        Some([column, line]) => format!("line {line}, column {column}: {what}"),
        _ => what,
    }
}
