//! Attempts to get out of the sandbox, by each backend that this system has. All of them fail, and what comes after
//! them works.

use std::collections::BTreeMap;
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use adapters::sandbox::backend::Backend;
use adapters::sandbox::job::{End, Limits, Run};
use adapters::sandbox::memory::{Hidden, Memory};
use adapters::sandbox::pids::Bound;
use adapters::sandbox::{Cage, Sandbox};
use domain::id::AgentId;
use domain::settings::Trust;
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use crate::home::{asleep, eventually, inner, nap};

/// A home with one agent's workspace, and something around it that is worth stealing.
struct Prison {
    folder: TempDir,
    sandbox: Sandbox,
}

/// What a prisoner achieved.
#[derive(Debug)]
struct Tried {
    end: Option<End>,
    out: String,
    err: String,
}

impl Prison {
    fn new(sandbox: Sandbox) -> Self {
        // Not in /tmp, of which a cage has its own.
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        for (path, text) in [
            ("home/synod.yaml", "the settings"),
            ("home/.synod/journal.db", "the journal"),
            ("home/workspaces/coder/a.txt", "hello"),
            ("home/workspaces/other/secret.txt", "the secret"),
            (".ssh/id_ed25519", "the secret key"),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self { folder, sandbox }
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(relative)
    }

    fn workspace(&self) -> PathBuf {
        self.path("home/workspaces/coder")
    }

    /// A cage that may write its workspace, with limits that a test can reach.
    fn cage(&self, text: &str) -> Cage {
        Cage {
            home: self.path("home"),
            workspace: self.workspace(),
            writable: true,
            network: false,
            read: vec![],
            memory: Memory::default(),
            variables: vec![],
            limits: Limits {
                cpu_seconds_max: 60,
                memory_bytes_max: 256 << 20,
                processes_max: 400,
                files_max: 256,
                file_bytes_max: 8 << 20,
                disk_bytes_max: 16 << 20,
                tmp_bytes_max: 4 << 20,
            },
            run: Run::Shell(text.to_owned()),
        }
    }

    async fn runs(&self, cage: &Cage) -> Tried {
        let mut started = self.sandbox.start(cage).unwrap();
        let (mut stdout, mut stderr) =
            (started.child.stdout.take().unwrap(), started.child.stderr.take().unwrap());
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let ended = async {
            let _ = tokio::join!(stdout.read_to_end(&mut out), stderr.read_to_end(&mut err));
            started.child.wait().await.unwrap();
        };
        timeout(Duration::from_secs(30), ended).await.expect("a cage ends");
        let end = started.end();
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Tried { end, out: text(&out), err: text(&err) }
    }

    async fn tries(&self, text: &str) -> Tried {
        self.runs(&self.cage(text)).await
    }

    /// Whatever happened, the next command works.
    async fn goes_on(&self) {
        let tried = self.tries("cat a.txt; touch made; rm made").await;
        assert_eq!((tried.end, tried.out.as_str()), (Some(End::Exited(0)), "hello"), "{}", tried.err);
    }
}

/// One prison for each backend that this system has. The second is on every system on which tests run.
fn prisons() -> Vec<Prison> {
    let all = [Backend::Bubblewrap, Backend::Namespaces].map(|backend| Sandbox::new(inner()).only(backend));
    let all: Vec<_> =
        all.into_iter().filter(|sandbox| sandbox.backend().is_some()).map(Prison::new).collect();
    assert!(!all.is_empty(), "this system offers no sandbox: {:?}", Sandbox::new(inner()).offer());
    all
}

/// Every one of these prints `out` only if it got out.
async fn none_gets_out(attempts: &[String]) {
    for prison in prisons() {
        for attempt in attempts {
            let attempt = attempt.replace("ROOT", &prison.path("").to_string_lossy());
            let tried = prison.tries(&format!("({attempt}) && echo out; true")).await;
            assert_eq!(tried.end, Some(End::Exited(0)), "{attempt}: {tried:?}");
            assert!(!tried.out.contains("out"), "{attempt}: {tried:?}");
        }
        prison.goes_on().await;
    }
}

fn owned<const N: usize>(attempts: [&str; N]) -> Vec<String> {
    attempts.map(str::to_owned).into()
}

#[tokio::test]
async fn nothing_outside_is_written() {
    none_gets_out(&owned([
        "touch ROOT/x",
        "touch ROOT/home/x",
        "echo x > ROOT/home/synod.yaml",
        "mkdir -p ROOT/home/policy",
        "touch ROOT/home/workspaces/x",
        "mkdir ROOT/home/workspaces/other",
        "touch ../x",
        "touch /usr/x",
        "touch /etc/x",
        "touch /x",
        "touch /root/x",
        "echo x > /etc/passwd",
        "echo 1 > /proc/sys/kernel/printk",
        "echo core > /proc/sys/kernel/core_pattern",
        "echo h > /proc/sysrq-trigger",
        "ln -s ROOT/home/synod.yaml link && echo x > link",
        "mount -t tmpfs none /usr",
        "mount -o remount,rw /usr",
        "umount ROOT/home",
        "unshare -Ur touch /usr/x",
    ]))
    .await;
}

#[tokio::test]
async fn control_files_do_not_come_into_being() {
    for prison in prisons() {
        let names = ["agents", "approvals", "policy", "tasks", "log", "run_mode.yaml", ".git", ".project"];
        for name in names {
            prison
                .tries(&format!(
                    "mkdir -p ../../{name}; mkdir -p {}",
                    prison.path("home").join(name).display()
                ))
                .await;
            assert!(!prison.path("home").join(name).exists(), "{name}");
        }
    }
}

#[tokio::test]
async fn nothing_outside_is_read() {
    none_gets_out(&owned([
        "cat ROOT/.ssh/id_ed25519",
        "cat ROOT/home/.synod/journal.db",
        "ls ROOT/home/.synod",
        "cat ROOT/home/synod.yaml",
        "cat ROOT/home/workspaces/other/secret.txt",
        "cat ../other/secret.txt",
        "ls ../other",
        "cat /etc/shadow",
        "ls /root/.ssh || ls /root/.cargo",
        "ls /home",
        "cat /proc/1/root/ROOT/home/synod.yaml",
        "readlink /proc/1/fd/0 || cat /proc/1/fd/0",
        "cat /proc/1/environ",
        "cat /proc/1/mem",
        "cat /proc/1/cwd/../../synod.yaml",
        "head -c 1 /dev/sda || head -c 1 /dev/vda || head -c 1 /dev/mem || head -c 1 /proc/kcore",
        "cat /proc/kmsg",
        "ls /sys/class",
        "ls /run/user /run/systemd /var/run/docker.sock",
        "ln -s ROOT/.ssh/id_ed25519 key && cat key",
    ]))
    .await;
}

#[tokio::test]
async fn memory_is_read_and_never_written_and_what_is_hidden_in_it_is_absent() {
    for prison in prisons() {
        for (path, text) in [
            ("home/memory/logs/app.log", "ERROR\nok\nERROR\n"),
            ("home/memory/pay/june.md", "the secret"),
            ("home/memory/own.md", "the secret of others"),
            ("home/memory/.env", "KEY=the secret"),
        ] {
            let path = prison.path("").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        symlink("../synod.yaml", prison.path("home/memory").join("link")).unwrap();
        let _socket = UnixListener::bind(prison.path("home/memory").join("socket")).unwrap();
        let trust = Trust {
            secret: BTreeMap::from([("memory/pay".to_owned(), vec![AgentId::new("finance")])]),
            ..Trust::default()
        };
        let (agent, files) = (AgentId::new("coder"), ["memory/own.md".to_owned()]);
        let hidden = Hidden { agent: &agent, trust: &trust, files: &files };
        let memory = Memory::of(&prison.path("home"), &hidden).unwrap();
        let runs = async |text: &str, writable| {
            prison.runs(&Cage { memory: memory.clone(), writable, ..prison.cage(text) }).await
        };
        let listed = runs("ls -A ../../memory ../..; grep -c ERROR ../../memory/logs/*.log", false).await;
        let seen = "../..:\nmemory\nworkspaces\n\n../../memory:\nlink\nlogs\n2\n";
        assert_eq!((listed.end, listed.out.as_str()), (Some(End::Exited(0)), seen), "{}", listed.err);
        for attempt in [
            "touch ../../memory/x",
            "touch ../../memory/logs/x",
            "echo x > ../../memory/logs/app.log",
            "rm ../../memory/logs/app.log",
            "mv ../../memory/logs ../../memory/other",
            "cat ../../memory/link",
            "cat ../../memory/pay/june.md",
            "cat ../../memory/.env",
            "mkdir ../../memory/pay",
        ] {
            let tried = runs(&format!("({attempt}) && echo out; true"), true).await;
            assert_eq!((tried.end, tried.out.as_str()), (Some(End::Exited(0)), ""), "{attempt}");
        }
        let log = fs::read_to_string(prison.path("home/memory/logs/app.log")).unwrap();
        assert_eq!(log, "ERROR\nok\nERROR\n");
        // Nothing hidden: the whole folder, but for what nobody may see.
        let trust = Trust::default();
        let all = Memory::of(&prison.path("home"), &Hidden { trust: &trust, files: &[], ..hidden }).unwrap();
        let listed = prison.runs(&Cage { memory: all, ..prison.cage("ls -A ../../memory") }).await;
        assert_eq!(listed.out, "link\nlogs\nown.md\npay\n", "{}", listed.err);
    }
}

#[tokio::test]
async fn a_link_that_is_swapped_while_it_runs_leads_nowhere() {
    for prison in prisons() {
        let workspace = prison.workspace();
        symlink(prison.path(".ssh"), workspace.join("there")).unwrap();
        let swapping = "for i in 1 2 3 4 5 6 7 8; do ln -sfn a.txt there; ln -sfn ROOT/.ssh there; \
                        cat there/id_ed25519; done";
        let swapping = swapping.replace("ROOT", &prison.path("").to_string_lossy());
        let tried = prison.tries(&swapping).await;
        assert!(!tried.out.contains("key"), "{tried:?}");
    }
}

#[tokio::test]
async fn nobody_outside_is_reached() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_nonblocking(true).unwrap();
    tcp.set_nonblocking(true).unwrap();
    let name = format!("synod-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let hidden = UnixListener::bind_addr(&address).unwrap();
    hidden.set_nonblocking(true).unwrap();
    let (tcp_port, udp_port) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
    let perl = |code: &str| format!("perl -MSocket -e '{code}'");
    none_gets_out(&[
        perl(&format!(
            "socket(S,PF_INET,SOCK_STREAM,0)||die; connect(S,sockaddr_in({tcp_port},inet_aton(\"127.0.0.1\")))||die"
        )),
        // A datagram goes out without an error, so only its arrival counts.
        perl(&format!(
            "socket(S,PF_INET,SOCK_DGRAM,0)||die; send(S,\"x\",0,sockaddr_in({udp_port},inet_aton(\"127.0.0.1\"))); die"
        )),
        perl(&format!("socket(S,PF_UNIX,SOCK_STREAM,0)||die; connect(S,pack_sockaddr_un(\"\\0{name}\"))||die")),
        perl("socket(S,PF_INET,SOCK_DGRAM,0)||die; send(S,\"x\",0,sockaddr_in(53,inet_aton(\"9.9.9.9\")))||die"),
        // Families that know no network namespace, or reach the kernel's inside.
        perl("socket(S,40,SOCK_STREAM,0)||die"),
        perl("socket(S,17,SOCK_RAW,0)||die"),
        perl("socket(S,16,SOCK_RAW,12)||die"),
        perl("socket(S,38,5,0)||die"),
        "getent ahosts example.org".to_owned(),
    ])
    .await;
    assert!(tcp.accept().is_err() && udp.recv(&mut [0; 8]).is_err() && hidden.accept().is_err());
}

#[tokio::test]
async fn what_is_granted_is_reached() {
    for prison in prisons() {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = tcp.local_addr().unwrap().port();
        let code = format!(
            "perl -MSocket -e 'socket(S,PF_INET,SOCK_STREAM,0)||die; \
             connect(S,sockaddr_in({port},inet_aton(\"127.0.0.1\")))||die; print \"out\"'"
        );
        let cage = Cage { network: true, ..prison.cage(&code) };
        assert_eq!(prison.runs(&cage).await.out, "out");
        // A network of one's own has at least oneself.
        let own = "perl -MSocket -e 'socket(L,PF_INET,SOCK_STREAM,0)||die; \
                   bind(L,sockaddr_in(0,inet_aton(\"127.0.0.1\")))||die; listen(L,1)||die; \
                   socket(S,PF_INET,SOCK_STREAM,0)||die; connect(S,getsockname(L))||die; print \"own\"'";
        assert_eq!(prison.tries(own).await.out, "own");
    }
}

#[tokio::test]
async fn no_more_rights_are_gained() {
    none_gets_out(&owned([
        "su -c true root < /dev/null",
        "chmod u+s a.txt",
        "chmod 2755 a.txt",
        "perl -e 'chmod(04755, \"a.txt\") || die'",
        "mknod dev b 8 0",
        "chown 1234 a.txt",
        "unshare -U true",
        "unshare -n true",
        "nsenter -t 1 -m true",
        "chroot . true",
        "strace -f true 2>/dev/null || perl -e 'syscall(101, 16, 1, 0, 0) == 0 || die'",
        "hostname elsewhere",
        "perl -e 'syscall(425, 8, 0) >= 0 || die'",
        "perl -e 'syscall(321, 0, 0, 0) >= 0 || die'",
        "perl -e 'syscall(250, 0, 0) >= 0 || die'",
        "grep -E 'Cap(Eff|Prm|Bnd):.*[1-9a-f]' /proc/self/status | grep -v Bnd",
        "grep 'NoNewPrivs:.*0' /proc/self/status",
        "grep 'Seccomp:.*0' /proc/self/status",
    ]))
    .await;
}

#[tokio::test]
async fn others_processes_are_neither_seen_nor_signalled() {
    let own = std::process::id();
    for prison in prisons() {
        let tried = prison
            .tries(&format!("kill -STOP {own}; kill -9 {own}; kill -9 1; kill -STOP 1; ps ax || ls /proc"))
            .await;
        assert_eq!(tried.end, Some(End::Exited(0)), "{tried:?}");
        let nap = nap();
        let mut sleeper = std::process::Command::new("sleep").arg(&nap).spawn().unwrap();
        let tried = prison.tries("kill -9 -1; cat /proc/[0-9]*/cmdline").await;
        assert!(!tried.out.contains(&nap), "{tried:?}");
        assert_eq!(sleeper.try_wait().unwrap(), None);
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        prison.goes_on().await;
    }
}

#[tokio::test]
async fn no_process_is_left_behind() {
    for prison in prisons() {
        let nap = nap();
        let text = format!(
            "setsid -f sleep {nap}; (trap '' TERM HUP; sleep {nap} & ) & nohup sleep {nap} >/dev/null 2>&1 &"
        );
        let tried = prison.tries(&text).await;
        assert_eq!(tried.end, Some(End::Exited(0)));
        assert_eq!(asleep(&nap), 0, "when the cage has ended, so has all in it");
    }
}

#[tokio::test]
async fn all_of_it_dies_with_whoever_started_it() {
    for prison in prisons() {
        let nap = nap();
        let started =
            prison.sandbox.start(&prison.cage(&format!("setsid -f sleep {nap}; sleep {nap}"))).unwrap();
        eventually("both", || asleep(&nap) == 2).await;
        // What is left of a killed process is a closed line, and nothing else.
        let mut child = started.child;
        drop(started.line);
        child.wait().await.unwrap();
        assert_eq!(asleep(&nap), 0);
    }
}

/// Lets a bomb go off and looks at it from outside. Its processes rest when there is no room for more, which this
/// machine has other use for than to count them.
async fn explodes(prison: &Prison) {
    let nap = nap();
    let count = || {
        let all = fs::read_dir("/proc").unwrap().flatten();
        let commands = all.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
        commands.filter(|command| command.ends_with(format!("{nap}\0").as_bytes())).count()
    };
    let started = prison
        .sandbox
        .start(&prison.cage(&format!("perl -e 'while (1) {{ fork || sleep 100 }}' {nap}; true")))
        .unwrap();
    eventually("many of them", || count() > 300).await;
    assert!(count() < 400, "{}", count());
    let mut child = started.child;
    drop(started.line);
    child.wait().await.unwrap();
    assert_eq!(count(), 0);
    prison.goes_on().await;
}

#[tokio::test]
async fn a_fork_bomb_ends_in_the_cage() {
    for prison in prisons() {
        explodes(&prison).await;
    }
}

/// As on a kernel before 6.14, where only a control group binds root.
#[tokio::test]
async fn a_fork_bomb_of_root_ends_in_its_group() {
    for Prison { sandbox, folder } in prisons() {
        let prison = Prison { sandbox: sandbox.bounded_by(Bound::Group), folder };
        match prison.sandbox.start(&prison.cage("true")) {
            Ok(mut started) => drop(started.child.wait().await),
            // Whoever is not root, or may make no groups, has no such bound.
            Err(e) => return assert!(e.to_string().contains("cannot be made"), "{e}"),
        }
        explodes(&prison).await;
    }
}

/// As where nothing of the kernel binds: it gets somewhat further, and is ended.
#[tokio::test]
async fn a_fork_bomb_that_nothing_binds_is_seen_and_ended() {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return; // The limit of the user binds.
    }
    for Prison { sandbox, folder } in prisons() {
        let prison = Prison { sandbox: sandbox.bounded_by(Bound::Watch), folder };
        let bomb = "perl -e '$| = 1; while (1) { my $n = fork; if (!$n) { sleep 100; exit } print \"$n\\n\" }'; true";
        let tried = prison.tries(bomb).await;
        assert!(matches!(tried.end, Some(End::Limited(_))), "{:?}", tried.end);
        let most = tried.out.lines().filter_map(|n| n.parse::<u32>().ok()).max();
        assert!(most.is_some_and(|most| (300..10_000).contains(&most)), "{most:?}");
        prison.goes_on().await;
    }
}

#[tokio::test]
async fn memory_is_limited_for_one_and_for_all() {
    for prison in prisons() {
        let tried = prison.tries("perl -e '$x = \"a\" x (300 << 20); print \"out\"'").await;
        assert!(!tried.out.contains("out"), "{tried:?}");
        // Each alone stays beneath the limit.
        let many =
            "for i in 1 2 3; do perl -e '$x = \"a\" x (100 << 20); $y = $x; sleep 20' & done; wait; echo out";
        let tried = prison.tries(many).await;
        assert!(matches!(&tried.end, Some(End::Limited(why)) if why.contains("memory")), "{tried:?}");
        prison.goes_on().await;
    }
}

#[tokio::test]
async fn the_disk_is_not_filled() {
    for prison in prisons() {
        let workspace = prison.workspace();
        // One large file, many small ones, and some that have no name any more.
        let large = prison.tries("head -c 20M /dev/zero > large; ls -s large").await;
        assert!(fs::metadata(workspace.join("large")).unwrap().len() <= 8 << 20, "{large:?}");
        let many = "i=0; while :; do i=$((i+1)); head -c 4M /dev/zero > part$i || exit; done";
        let tried = prison.tries(many).await;
        assert!(matches!(&tried.end, Some(End::Limited(why)) if why.contains("disk")), "{tried:?}");
        let nameless = "for fd in 3 4 5 6 7 8 9; do eval \"exec $fd> gone; rm gone; head -c 7M /dev/zero >&$fd\"; done; sleep 20";
        let tried = prison.tries(nameless).await;
        assert!(matches!(&tried.end, Some(End::Limited(why)) if why.contains("disk")), "{tried:?}");
        let tmp = prison
            .tries("head -c 7M /dev/zero > /tmp/synod-x; head -c 70M /dev/zero > /dev/shm/x; du -cm /tmp /dev/shm")
            .await;
        assert!(tmp.err.contains("No space left") || tmp.err.contains("too large"), "{tmp:?}");
        assert!(fs::read_dir("/tmp").is_ok() && !Path::new("/tmp/synod-x").exists());
        prison.goes_on().await;
    }
}

#[tokio::test]
async fn time_on_the_processor_and_open_files_are_limited() {
    for prison in prisons() {
        let mut cage = prison.cage("while :; do :; done");
        cage.limits.cpu_seconds_max = 1;
        let tried = prison.runs(&cage).await;
        assert!(matches!(tried.end, Some(End::Signalled(_))), "{tried:?}");
        let files =
            "perl -e 'for (1..300) { open(my $f, \"<\", \"a.txt\") || die; push @f, $f } print \"out\"'";
        assert!(!prison.tries(files).await.out.contains("out"));
    }
}

#[tokio::test]
async fn no_open_file_is_inherited() {
    let secret = tempfile::tempfile().unwrap();
    // As a shell or a careless library would leave it.
    rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty()).unwrap();
    assert!(secret.as_fd().as_raw_fd() > 2);
    for prison in prisons() {
        let tried = prison.tries("ls -l /proc/self/fd | grep -c -E '^l.* ([3-9]|[0-9]{2,}) ->'; true").await;
        // One is the folder that `ls` itself reads.
        assert_eq!(tried.out.trim(), "1", "{tried:?}");
        let input = prison.tries("cat; ls -l /proc/self/fd/0").await;
        assert!(input.out.contains("/dev/null"), "{input:?}");
    }
}

#[tokio::test]
async fn git_is_no_trap_for_whoever_comes_later() {
    for prison in prisons() {
        let git = prison.workspace().join(".git");
        prison.tries("mkdir -p .git/hooks; echo x > .git/config; git init . 2>/dev/null").await;
        assert!(!git.join("config").exists() && !git.join("hooks").exists(), "none is made");
        assert!(git.is_dir(), "an empty folder holds its place");
        fs::remove_dir(&git).unwrap();

        fs::create_dir_all(git.join("objects")).unwrap();
        fs::write(git.join("config"), "[core]\n").unwrap();
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        let attempts = "echo x > .git/config; echo x > .git/hooks/pre-commit; echo x > .git/info/attributes; \
                        mv .git gone; rm -rf .git/hooks .git/config; mv .git/config x; ln -sf x .git/config; \
                        echo ../x > .git/commondir; echo x > .git/config.worktree; echo fine > .git/index";
        prison.tries(attempts).await;
        assert_eq!(fs::read_to_string(git.join("config")).unwrap(), "[core]\n");
        assert_eq!(fs::read_dir(git.join("hooks")).unwrap().count(), 0);
        assert_eq!(fs::read_dir(git.join("info")).unwrap().count(), 0);
        assert!(!git.join("commondir").exists() && !git.join("config.worktree").exists());
        fs::remove_dir_all(&git).unwrap();

        fs::write(&git, "gitdir: /nowhere\n").unwrap();
        prison.tries("echo x > .git; rm -f .git; mv .git x").await;
        assert_eq!(fs::read_to_string(&git).unwrap(), "gitdir: /nowhere\n");
        fs::remove_file(&git).unwrap();
        symlink("elsewhere", &git).unwrap();
        assert!(prison.sandbox.start(&prison.cage("true")).is_err(), "a link cannot be guarded");
        fs::remove_file(&git).unwrap();
    }
}

/// The workspace is full of what an agent or a stranger wrote. Settings in it are no settings of a person.
#[tokio::test]
async fn settings_in_the_workspace_are_no_settings_of_a_person() {
    let run = "echo out >&2; false";
    for prison in prisons() {
        let workspace = prison.workspace();
        fs::create_dir_all(workspace.join(".config/git")).unwrap();
        for path in [".gitconfig", ".config/git/config"] {
            fs::write(workspace.join(path), format!("[core]\n\tfsmonitor = \"{run}\"\n")).unwrap();
        }
        fs::create_dir_all(workspace.join(".git/objects")).unwrap();
        fs::create_dir_all(workspace.join(".git/refs")).unwrap();
        fs::write(workspace.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        for writable in [true, false] {
            let git = Run::Script("git status".to_owned());
            let tried = prison.runs(&Cage { writable, run: git, ..prison.cage("") }).await;
            assert_eq!(tried.end, Some(End::Exited(0)), "{tried:?}");
            assert!(tried.out.contains("No commits yet") && !tried.err.contains("out"), "{tried:?}");
        }
        let unasked = Cage { writable: false, ..prison.cage("ls -A ~") };
        let tried = prison.runs(&unasked).await;
        assert_eq!((tried.end.clone(), tried.out.as_str()), (Some(End::Exited(0)), ""), "{tried:?}");
    }
}

#[tokio::test]
async fn repositories_deeper_in_the_workspace_are_no_trap_either() {
    for prison in prisons() {
        let (git, linked) =
            (prison.workspace().join("deep/sub/.git"), prison.workspace().join("linked/.git"));
        fs::create_dir_all(git.join("objects")).unwrap();
        fs::write(git.join("config"), "[core]\n").unwrap();
        fs::create_dir_all(linked.parent().unwrap()).unwrap();
        fs::write(&linked, "gitdir: /nowhere\n").unwrap();
        let attempts = "cd deep/sub; echo x > .git/config; echo x > .git/hooks/pre-commit; mv .git gone; \
                        rm -rf .git/hooks .git/config; ln -sf x .git/config; echo ../x > .git/commondir; \
                        echo fine > .git/index; cd ../../linked; echo x > .git; rm -f .git; mv .git x";
        let tried = prison.tries(attempts).await;
        assert_eq!(fs::read_to_string(git.join("config")).unwrap(), "[core]\n", "{tried:?}");
        assert_eq!(fs::read_dir(git.join("hooks")).unwrap().count(), 0);
        assert!(!git.join("commondir").exists() && git.join("index").exists());
        assert_eq!(fs::read_to_string(&linked).unwrap(), "gitdir: /nowhere\n");
    }
}

#[tokio::test]
async fn credentials_in_the_workspace_are_covered() {
    for prison in prisons() {
        let workspace = prison.workspace();
        for path in [".env", "deep/er/server.key", "deep/.aws/config", "notes/real.txt"] {
            let path = workspace.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "the secret").unwrap();
        }
        symlink("deep/er/server.key", workspace.join("plain")).unwrap();
        symlink("notes/real.txt", workspace.join(".netrc")).unwrap();
        let attempts = "grep -r secret .; cat .env plain deep/er/server.key deep/.aws/config .netrc notes/real.txt; \
                        cp .env deep/.aws/config /tmp; cat /tmp/.env /tmp/config; ln .env e; cat e; mv .env e; cat e; \
                        rm -rf .env deep/.aws; echo x > .env; mv deep/er deep/x; cat deep/x/server.key; mv deep/x deep/er; \
                        cat /proc/self/root$PWD/.env; echo end; cat a.txt";
        for writable in [false, true] {
            let tried = prison.runs(&Cage { writable, ..prison.cage(attempts) }).await;
            assert_eq!(
                (tried.end.clone(), tried.out.as_str()),
                (Some(End::Exited(0)), "end\nhello"),
                "{tried:?}"
            );
        }
        for path in [".env", "deep/er/server.key", "deep/.aws/config"] {
            assert_eq!(
                fs::read_to_string(workspace.join(path)).unwrap(),
                "the secret",
                "{path} stays as it is"
            );
        }
        prison.goes_on().await;
    }
}

#[tokio::test]
async fn what_only_reads_writes_nothing() {
    for prison in prisons() {
        let cage = Cage {
            writable: false,
            ..prison.cage("touch x; echo x > a.txt; rm a.txt; cat a.txt; echo y > /tmp/y && cat /tmp/y")
        };
        let tried = prison.runs(&cage).await;
        assert_eq!((tried.end.clone(), tried.out.as_str()), (Some(End::Exited(0)), "helloy\n"), "{tried:?}");
        let names: Vec<_> =
            fs::read_dir(prison.workspace()).unwrap().flatten().map(|e| e.file_name()).collect();
        assert_eq!(names, ["a.txt"]);
    }
}

#[tokio::test]
async fn a_home_among_the_folders_of_the_system_is_hidden_too() {
    for prison in prisons() {
        // The folder around the home is seen, the home in it is not, nor are credentials.
        fs::write(prison.path("beside.txt"), "beside the home").unwrap();
        let cage = Cage {
            read: vec![prison.path("")],
            ..prison.cage("cat ROOT/beside.txt ROOT/.ssh/id_ed25519; ls -a ROOT/home ROOT/home/workspaces")
        };
        let Run::Shell(text) = &cage.run else { panic!() };
        let run = Run::Shell(text.replace("ROOT", &prison.path("").to_string_lossy()));
        let tried = prison.runs(&Cage { run, ..cage }).await;
        assert!(tried.out.contains("beside the home") && !tried.out.contains("secret"), "{tried:?}");
        assert!(!tried.out.contains("synod") && !tried.out.contains("other"), "{tried:?}");
    }
}

#[tokio::test]
async fn a_person_who_is_not_root_is_held_as_well() {
    let helper = tempfile::tempdir().unwrap();
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is_root || !Path::new("/usr/bin/setpriv").exists() {
        return; // Then all tests here are that person's.
    }
    let (script, program) = (helper.path().join("as-nobody"), helper.path().join("inner"));
    fs::copy(inner(), &program).unwrap();
    let text = format!(
        "#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 --clear-groups {} \"$@\"\n",
        program.display()
    );
    fs::write(&script, text).unwrap();
    for path in [helper.path(), &script] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let prison = Prison::new(Sandbox::new(script).only(Backend::Namespaces));
    assert_eq!(prison.sandbox.backend(), Some(Backend::Namespaces), "{:?}", prison.sandbox.offer());
    fs::set_permissions(prison.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let workspace = prison.workspace();
    for path in [workspace.as_path(), &workspace.join("a.txt")] {
        std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
    }
    prison.goes_on().await;
    assert_eq!(prison.tries("id -u").await.out, "65534\n");
    explodes(&prison).await;
}
