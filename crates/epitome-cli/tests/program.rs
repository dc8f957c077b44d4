//! That the program starts. It is tested in `tests/it`; that this test needs the program makes
//! cargo build it whenever the workspace is tested.

use std::process::Command;

#[test]
fn it_says_its_version() {
    let out = Command::new(env!("CARGO_BIN_EXE_epitome")).arg("--version").output().unwrap();
    assert!(out.status.success());
    assert_eq!(
        String::from_utf8_lossy(&out.stdout),
        concat!("epitome ", env!("CARGO_PKG_VERSION"), "\n")
    );
}
