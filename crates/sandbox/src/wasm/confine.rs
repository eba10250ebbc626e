//! A second wall around the interpreters: should one break out of WebAssembly, it finds itself in a process that can do
//! next to nothing.
//!
//! Set once, before the worker starts a thread or reads a request, and for good: no new privileges, no file but the
//! runtimes (Landlock, where the kernel has it), and only the system calls that running a guest takes (seccomp). No
//! process can be started, no socket opened, nothing written. What is refused fails with an error; nothing is killed.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetCreatedAttr, Scope, path_beneath_rules,
};
use rustix::process::{Resource, Rlimit, setrlimit};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// Open files at most: three streams, the runtimes, what the interpreters' own event loop needs.
const OPEN_FILES: u64 = 64;
/// Newest Landlock that is asked for; an older kernel gives what it has.
const LANDLOCK: ABI = ABI::V6;
/// Flags that make `clone` start a thread and not a process.
const THREAD: u64 = 0x0001_0000 | 0x0000_0100;

/// What running a guest takes, whatever the arguments.
#[rustfmt::skip]
const ALLOWED: &[i64] = &[
    // Requests, answers, runtimes: reading, and writing to what is open.
    libc::SYS_read, libc::SYS_readv, libc::SYS_pread64, libc::SYS_write, libc::SYS_writev, libc::SYS_close,
    libc::SYS_openat, libc::SYS_fstat, libc::SYS_newfstatat, libc::SYS_statx, libc::SYS_lseek, libc::SYS_fcntl,
    libc::SYS_readlinkat,
    // Memory of guests, compiled code among it.
    libc::SYS_mmap, libc::SYS_munmap, libc::SYS_mprotect, libc::SYS_mremap, libc::SYS_madvise, libc::SYS_brk,
    libc::SYS_membarrier,
    // Threads, their locks and signals.
    libc::SYS_futex, libc::SYS_set_robust_list, libc::SYS_rseq, libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn, libc::SYS_sigaltstack, libc::SYS_sched_yield, libc::SYS_sched_getaffinity,
    libc::SYS_gettid, libc::SYS_getpid, libc::SYS_tgkill, libc::SYS_exit, libc::SYS_exit_group, libc::SYS_prctl,
    libc::SYS_restart_syscall, libc::SYS_prlimit64,
    // Clocks, waiting, randomness.
    libc::SYS_clock_gettime, libc::SYS_clock_getres, libc::SYS_nanosleep, libc::SYS_clock_nanosleep,
    libc::SYS_getrandom, libc::SYS_ppoll, libc::SYS_epoll_create1, libc::SYS_epoll_ctl, libc::SYS_epoll_pwait,
    libc::SYS_eventfd2, libc::SYS_socketpair,
    // Whether the runtimes are ours.
    libc::SYS_geteuid, libc::SYS_getuid, libc::SYS_getegid, libc::SYS_getgid,
];
#[cfg(target_arch = "x86_64")]
const OLD: &[i64] = &[libc::SYS_poll, libc::SYS_epoll_wait, libc::SYS_readlink, libc::SYS_arch_prctl];
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[i64] = &[];

/// Confines this process. To be called while it has one thread. A kernel without Landlock leaves that wall out.
///
/// # Errors
/// The kernel has no seccomp, or a limit cannot be set: then nothing may run.
pub(super) fn confine(runtimes: &Path) -> io::Result<()> {
    // A core file would hold what a caller's program worked on.
    for (resource, most) in [(Resource::Core, 0), (Resource::Nofile, OPEN_FILES)] {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    files(runtimes).map_err(io::Error::other)?;
    for filter in filters().map_err(io::Error::other)? {
        seccompiler::apply_filter(&filter).map_err(io::Error::other)?;
    }
    Ok(())
}

fn files(runtimes: &Path) -> Result<(), landlock::RulesetError> {
    Ruleset::default()
        .handle_access(AccessFs::from_all(LANDLOCK))?
        .handle_access(AccessNet::from_all(LANDLOCK))?
        .scope(Scope::from_all(LANDLOCK))?
        .create()?
        .add_rules(path_beneath_rules([runtimes], AccessFs::ReadFile | AccessFs::ReadDir))?
        .restrict_self()?;
    Ok(())
}

/// One filter has one answer: `clone3`, whose flags no filter can read, is answered `ENOSYS`, and the C library then uses
/// `clone`, whose flags are looked at.
fn filters() -> Result<[BpfProgram; 2], seccompiler::BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let plain = ALLOWED.iter().chain(OLD).chain([&libc::SYS_clone3]).map(|call| (*call, Vec::new()));
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = plain.collect();
    let thread = SeccompCondition::new(0, Len::Qword, Op::MaskedEq(THREAD), THREAD)?;
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![thread])?]);
    let refused = |errno: i32| SeccompAction::Errno(errno.unsigned_abs());
    let allowed = SeccompFilter::new(rules, refused(libc::EPERM), SeccompAction::Allow, arch)?;
    let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let clone3 = SeccompFilter::new(clone3, SeccompAction::Allow, refused(libc::ENOSYS), arch)?;
    Ok([clone3.try_into()?, allowed.try_into()?])
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};
    use std::process::Command;

    use super::*;

    /// Set for the child that confines itself.
    const CHILD: &str = "OMNI_SKILLS_TEST_CONFINED";

    /// Runs in a process of its own: what is confined stays so.
    #[test]
    fn in_the_child() {
        let Some(dir) = std::env::var_os(CHILD) else { return };
        // The test harness has threads; this one is confined, and so is what it starts.
        confine(Path::new(&dir)).unwrap();
        let inside = Path::new(&dir).join("inside");
        assert_eq!(std::fs::read(&inside).unwrap(), b"runtime");
        assert!(std::fs::read("/etc/passwd").is_err(), "a file of the host");
        assert!(std::fs::read_dir("/").is_err(), "a folder of the host");
        assert!(std::fs::write(&inside, "changed").is_err(), "writing");
        assert!(std::fs::write(Path::new(&dir).join("new"), "x").is_err(), "making a file");
        assert!(std::fs::remove_file(&inside).is_err(), "removing");
        assert!(Command::new("/bin/true").spawn().is_err(), "a process");
        assert!(TcpListener::bind("127.0.0.1:0").is_err(), "a TCP socket");
        assert!(UdpSocket::bind("127.0.0.1:0").is_err(), "a UDP socket");
        assert!(std::os::unix::net::UnixListener::bind(Path::new(&dir).join("s")).is_err(), "a local socket");
        std::thread::spawn(|| assert!(std::fs::read("/etc/passwd").is_err())).join().unwrap();
    }

    #[test]
    fn a_confined_process_reaches_the_runtimes_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("inside"), "runtime").unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "wasm::confine::tests::in_the_child", "--nocapture"]).env(CHILD, dir.path());
        let output = child.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{said}{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
