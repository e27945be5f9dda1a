//! System calls that a command does not get. What programs need for their work is open; what reaches into other
//! processes, the kernel or another namespace is not.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

/// Which sockets can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    /// Between processes of this system.
    Local,
    /// Also of the internet families; whether they lead anywhere is for the network namespace.
    Internet,
}

/// Refused whatever their arguments are.
const REFUSED: [i64; 58] = [
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Namespaces and mounts.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    // The kernel and the machine.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_nfsservctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_fanotify_init,
    libc::SYS_mbind,
    libc::SYS_set_mempolicy,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_personality,
    libc::SYS_memfd_secret,
];

/// As if the kernel did not know them, so that programs use the older calls, whose arguments can be seen.
const UNKNOWN: [i64; 2] = [libc::SYS_clone3, libc::SYS_openat2];

/// Bits of a file's mode that let others act as its owner.
const SET_ID: [u64; 2] = [libc::S_ISUID as u64, libc::S_ISGID as u64];

/// Calls with the mode of a file: which argument it is, and which one says that a file is made.
const MODES: [(i64, u8, Option<u8>); 4] = [
    (libc::SYS_fchmod, 1, None),
    (libc::SYS_fchmodat, 2, None),
    (libc::SYS_openat, 3, Some(2)),
    (libc::SYS_mknodat, 2, None),
];

#[cfg(target_arch = "x86_64")]
const MODES_OLD: [(i64, u8, Option<u8>); 4] = [
    (libc::SYS_chmod, 1, None),
    (libc::SYS_creat, 1, None),
    (libc::SYS_open, 2, Some(1)),
    (libc::SYS_mknod, 1, None),
];
#[cfg(not(target_arch = "x86_64"))]
const MODES_OLD: [(i64, u8, Option<u8>); 0] = [];

/// Number of `fchmodat2`, which the library does not name on every system.
const FCHMODAT2: i64 = 452;

/// Namespaces that a new process may not begin.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Requests to a terminal that put words into another's mouth.
const TERMINAL_REQUESTS: [u64; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Refuses them to this thread and all that it starts.
pub(super) fn refuse(sockets: Sockets) -> Result<(), seccompiler::Error> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let filter = |rules: Rules, errno: i32| -> Result<BpfProgram, BackendError> {
        let refused = SeccompAction::Errno(errno.cast_unsigned());
        SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?.try_into()
    };
    let unknown = UNKNOWN.into_iter().map(|call| (call, vec![])).collect();
    for program in [filter(rules(sockets)?, libc::EPERM)?, filter(unknown, libc::ENOSYS)?] {
        seccompiler::apply_filter(&program)?;
    }
    #[cfg(target_arch = "x86_64")]
    seccompiler::apply_filter(&no_second_numbers())?;
    Ok(())
}

fn rules(sockets: Sockets) -> Result<Rules, BackendError> {
    let mut rules: Rules = REFUSED.into_iter().map(|call| (call, vec![])).collect();
    let namespaces = NAMESPACES.map(i64::from).map(i64::cast_unsigned);
    rules.insert(libc::SYS_clone, each(namespaces, |flag| Ok(vec![has(0, flag)?]))?);
    rules.insert(libc::SYS_ioctl, each(TERMINAL_REQUESTS, |request| Ok(vec![is(1, request)?]))?);
    let modes = MODES.into_iter().chain(MODES_OLD).chain([(FCHMODAT2, 2, None)]);
    for (call, mode, flags) in modes {
        let made = |bit| -> Result<Vec<SeccompCondition>, BackendError> {
            let makes = flags.map(|flags| has(flags, libc::O_CREAT as u64)).transpose()?;
            Ok([has(mode, bit)?].into_iter().chain(makes).collect())
        };
        rules.insert(call, each(SET_ID, made)?);
    }
    let mut families = vec![libc::AF_UNIX];
    if sockets == Sockets::Internet {
        families.extend([libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]);
    }
    let foreign =
        families.iter().map(|family| not(0, family.unsigned_abs().into())).collect::<Result<_, _>>()?;
    // Of netlink only the part that tells addresses and routes.
    let netlink = vec![is(0, libc::AF_NETLINK.unsigned_abs().into())?, not(2, 0)?];
    rules.insert(libc::SYS_socket, vec![SeccompRule::new(foreign)?, SeccompRule::new(netlink)?]);
    rules.insert(
        libc::SYS_socketpair,
        vec![SeccompRule::new(vec![not(0, libc::AF_UNIX.unsigned_abs().into())?])?],
    );
    Ok(rules)
}

fn each<const N: usize>(
    values: [u64; N],
    conditions: impl Fn(u64) -> Result<Vec<SeccompCondition>, BackendError>,
) -> Result<Vec<SeccompRule>, BackendError> {
    values.into_iter().map(|value| SeccompRule::new(conditions(value)?)).collect()
}

/// The argument has all bits of `mask`.
fn has(argument: u8, mask: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(mask), mask)
}

fn is(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn not(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

/// Some kernels know every call by a second number with one bit more, which no rule above would meet.
#[cfg(target_arch = "x86_64")]
fn no_second_numbers() -> BpfProgram {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const SECOND_NUMBERS: u32 = 0x4000_0000;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        step(LOAD_WORD, 0, 0, 0),
        step(JUMP_IF_AT_LEAST, 0, 1, SECOND_NUMBERS),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs()),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}
