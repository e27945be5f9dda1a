//! What programs that are not known to only read could do: how much harm, in words a person can weigh.

use super::finding::{Finding, ask, deny, rule};
use super::parse::Found;
use super::paths;
use super::wrapper::base;
use crate::Risk;

/// A kind of harm and the programs that do it.
struct Kind {
    what: &'static str,
    risk: Risk,
    network: bool,
    programs: &'static [&'static str],
}

const KINDS: [Kind; 15] = [
    Kind {
        what: "takes other rights",
        risk: Risk::Critical,
        network: false,
        programs: &[
            "sudo", "su", "doas", "pkexec", "runuser", "chroot", "nsenter", "setpriv", "newgrp", "sg",
        ],
    },
    Kind {
        what: "destroys",
        risk: Risk::Critical,
        network: false,
        programs: &[
            "dd",
            "shred",
            "wipefs",
            "fdisk",
            "parted",
            "sfdisk",
            "mkswap",
            "shutdown",
            "reboot",
            "halt",
            "poweroff",
            "init",
            "telinit",
            "wipe",
            "srm",
            "blkdiscard",
            "hdparm",
            "cryptsetup",
            "lvremove",
            "vgremove",
        ],
    },
    Kind {
        what: "deletes",
        risk: Risk::Medium,
        network: false,
        programs: &["rm", "rmdir", "unlink", "truncate"],
    },
    Kind {
        what: "changes rights",
        risk: Risk::High,
        network: false,
        programs: &["chmod", "chown", "chgrp", "setfacl", "chattr", "setcap", "umask"],
    },
    Kind {
        what: "network",
        risk: Risk::High,
        network: true,
        programs: &[
            "curl",
            "wget",
            "nc",
            "ncat",
            "netcat",
            "socat",
            "telnet",
            "ssh",
            "scp",
            "sftp",
            "rsync",
            "ftp",
            "tftp",
            "lftp",
            "dig",
            "host",
            "nslookup",
            "drill",
            "ping",
            "ping6",
            "traceroute",
            "tracepath",
            "mtr",
            "whois",
            "nmap",
            "http",
            "https",
            "xh",
            "aria2c",
            "axel",
            "openssl",
            "mail",
            "mailx",
            "sendmail",
            "mutt",
            "msmtp",
            "swaks",
            "rclone",
            "s3cmd",
            "ab",
            "hey",
            "wrk",
            "tcpdump",
            "tshark",
            "ngrok",
            "cloudflared",
            "getent",
            "resolvectl",
            "lynx",
            "links",
            "w3m",
            "gsutil",
            "ssh-copy-id",
            "sshfs",
            "mosh",
            "irssi",
            "ldapsearch",
            "smbclient",
            "psql",
            "mysql",
            "mongosh",
            "redis-cli",
            "hostid",
            "fetch",
            "ghz",
            "grpcurl",
            "websocat",
        ],
    },
    Kind {
        what: "runs code",
        risk: Risk::High,
        network: false,
        programs: &[
            "sh",
            "bash",
            "dash",
            "zsh",
            "ksh",
            "mksh",
            "ash",
            "fish",
            "csh",
            "tcsh",
            "python",
            "python2",
            "python3",
            "perl",
            "ruby",
            "node",
            "nodejs",
            "deno",
            "bun",
            "php",
            "lua",
            "luajit",
            "Rscript",
            "R",
            "julia",
            "java",
            "groovy",
            "scala",
            "tclsh",
            "wish",
            "expect",
            "osascript",
            "powershell",
            "pwsh",
            "eval",
            "source",
            ".",
            "exec",
            "builtin",
            "command",
            "ipython",
            "irb",
            "ghci",
            "ocaml",
            "elixir",
            "iex",
            "erl",
            "swift",
            "guile",
            "racket",
            "sbcl",
            "gdb",
            "lldb",
            "busybox",
            "toybox",
            "m4",
            "dc",
            "ed",
            "ex",
            "tsx",
            "ts-node",
            "npx",
            "pipx",
            "uvx",
            "sqlite3",
            "ld.so",
            "ldd",
            "start-stop-daemon",
            "dlv",
            "jshell",
            "dotnet",
            "nim",
            "crystal",
            "zx",
        ],
    },
    Kind {
        what: "runs another program",
        risk: Risk::High,
        network: false,
        programs: &[
            "xargs",
            "env",
            "nohup",
            "timeout",
            "nice",
            "time",
            "stdbuf",
            "setsid",
            "ionice",
            "watch",
            "strace",
            "ltrace",
            "flock",
            "parallel",
            "unshare",
            "taskset",
            "chrt",
            "script",
            "entr",
            "screen",
            "tmux",
            "at",
            "batch",
            "setarch",
            "proot",
            "perf",
            "valgrind",
            "rr",
            "faketime",
            "fakeroot",
            "unbuffer",
            "rlwrap",
            "systemd-run",
            "dbus-send",
            "xdg-open",
            "open",
            "which-run",
            "coproc",
            "trap",
            "alias",
            "hash",
            "enable",
            "export",
            "declare",
            "typeset",
            "set",
            "unset",
            "readonly",
            "local",
            "read",
            "mapfile",
            "let",
            "bind",
            "complete",
            "shopt",
            "logger",
            "wall",
        ],
    },
    Kind {
        what: "installs",
        risk: Risk::High,
        network: true,
        programs: &[
            "apt",
            "apt-get",
            "aptitude",
            "yum",
            "dnf",
            "pacman",
            "apk",
            "zypper",
            "brew",
            "port",
            "snap",
            "flatpak",
            "pip",
            "pip3",
            "gem",
            "bundle",
            "conda",
            "mamba",
            "poetry",
            "uv",
            "pdm",
            "pnpm",
            "yarn",
            "composer",
            "cpan",
            "luarocks",
            "opam",
            "cabal",
            "stack",
            "nix",
            "nix-env",
            "nix-shell",
            "dpkg",
            "rpm",
            "rustup",
            "nvm",
            "asdf",
            "choco",
            "winget",
            "easy_install",
            "go",
            "npm",
            "cargo-install",
        ],
    },
    Kind {
        what: "runs code of the workspace",
        risk: Risk::Medium,
        network: false,
        programs: &[
            "make",
            "gmake",
            "cmake",
            "ninja",
            "cargo",
            "rustc",
            "gcc",
            "g++",
            "cc",
            "clang",
            "clang++",
            "javac",
            "mvn",
            "gradle",
            "gradlew",
            "ant",
            "sbt",
            "bazel",
            "buck",
            "meson",
            "tox",
            "nox",
            "pytest",
            "jest",
            "mocha",
            "vitest",
            "tsc",
            "eslint",
            "prettier",
            "webpack",
            "vite",
            "rake",
            "rspec",
            "mix",
            "rebar3",
            "dune",
            "just",
            "task",
            "invoke",
            "pre-commit",
            "phpunit",
            "black",
            "ruff",
            "mypy",
            "flake8",
            "golangci-lint",
            "ctest",
            "zig",
        ],
    },
    Kind {
        what: "controls containers or a cloud",
        risk: Risk::High,
        network: true,
        programs: &[
            "docker",
            "docker-compose",
            "podman",
            "buildah",
            "nerdctl",
            "ctr",
            "crictl",
            "kubectl",
            "helm",
            "oc",
            "k9s",
            "minikube",
            "kind",
            "terraform",
            "tofu",
            "pulumi",
            "ansible",
            "ansible-playbook",
            "vagrant",
            "aws",
            "gcloud",
            "az",
            "gh",
            "glab",
            "heroku",
            "fly",
            "flyctl",
            "vercel",
            "netlify",
            "doctl",
            "vault",
            "consul",
            "nomad",
            "virsh",
            "lxc",
            "packer",
            "serverless",
            "firebase",
            "wrangler",
            "op",
            "bw",
            "pass",
            "security",
            "secret-tool",
        ],
    },
    Kind {
        what: "changes the system",
        risk: Risk::High,
        network: false,
        programs: &[
            "systemctl",
            "service",
            "crontab",
            "mount",
            "umount",
            "iptables",
            "nft",
            "ufw",
            "firewall-cmd",
            "sysctl",
            "useradd",
            "userdel",
            "usermod",
            "groupadd",
            "passwd",
            "chpasswd",
            "visudo",
            "kill",
            "pkill",
            "killall",
            "xkill",
            "insmod",
            "modprobe",
            "rmmod",
            "swapon",
            "swapoff",
            "hostnamectl",
            "timedatectl",
            "loginctl",
            "journalctl",
            "ifconfig",
            "route",
            "ip",
            "iw",
            "nmcli",
            "launchctl",
            "defaults",
            "update-alternatives",
            "ldconfig",
            "losetup",
            "renice",
            "prlimit",
            "dmesg",
            "setenforce",
            "update-rc.d",
            "chkconfig",
            "adduser",
            "deluser",
            "vipw",
            "chsh",
            "keyctl",
            "gpg",
            "gpg2",
            "ssh-keygen",
            "ssh-add",
            "ssh-agent",
            "stty",
            "date",
            "hwclock",
            "ntpdate",
        ],
    },
    Kind {
        what: "writes files",
        risk: Risk::Medium,
        network: false,
        programs: &[
            "cp",
            "mv",
            "ln",
            "mkdir",
            "touch",
            "tee",
            "install",
            "split",
            "csplit",
            "patch",
            "mkfifo",
            "mknod",
            "mktemp",
            "rename",
            "tar",
            "zip",
            "unzip",
            "gzip",
            "gunzip",
            "bzip2",
            "bunzip2",
            "xz",
            "unxz",
            "zstd",
            "7z",
            "7za",
            "cpio",
            "ar",
            "rar",
            "unrar",
            "sponge",
            "dos2unix",
            "unix2dos",
            "iconv",
            "convert",
            "magick",
            "ffmpeg",
            "pandoc",
            "ctags",
            "objcopy",
            "strip",
            "sdiff",
            "shar",
            "uuencode",
            "uudecode",
            "xxd",
            "fallocate",
            "sync",
            "ld",
            "as",
            "yq",
            "pax",
        ],
    },
    Kind {
        what: "is an editor or pager that can run commands",
        risk: Risk::Medium,
        network: false,
        programs: &[
            "vi",
            "vim",
            "view",
            "nvim",
            "nano",
            "pico",
            "emacs",
            "emacsclient",
            "code",
            "less",
            "more",
            "most",
            "man",
            "info",
            "mc",
            "joe",
            "micro",
            "helix",
            "hx",
            "subl",
            "kak",
            "bat",
            "batcat",
            "ranger",
            "fzf",
            "ncdu",
            "htop",
            "tig",
            "lazygit",
            "pg",
            "vimdiff",
            "gedit",
            "zless",
            "zmore",
        ],
    },
    Kind {
        what: "shows the environment or history",
        risk: Risk::Medium,
        network: false,
        programs: &[
            "printenv",
            "history",
            "fc",
            "last",
            "lastlog",
            "lsof",
            "locate",
            "dmidecode",
            "apt-cache",
        ],
    },
    Kind {
        what: "may never end or fill memory",
        risk: Risk::Medium,
        network: false,
        programs: &["yes", "stress", "stress-ng", "cat-forever"],
    },
];

/// What a program could do.
fn of_program(program: &str) -> Finding {
    let name = base(program);
    if let Some(kind) =
        KINDS.iter().find(|kind| kind.programs.contains(&name) || is_version_of(name, kind.programs))
    {
        let mut finding = ask(kind.risk, rule::CHANGES, format!("{}: {name}", kind.what));
        finding.network = kind.network;
        return finding;
    }
    if name.starts_with("mkfs") {
        return ask(Risk::Critical, rule::CHANGES, format!("destroys: {name}"));
    }
    if program.contains('/') {
        return ask(Risk::High, rule::UNKNOWN, format!("runs code by its path: {program}"));
    }
    ask(Risk::Medium, rule::UNKNOWN, format!("unknown program: {name}"))
}

/// `python3.12` is `python3`.
fn is_version_of(name: &str, programs: &[&str]) -> bool {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    plain.len() > 2 && plain != name && programs.contains(&plain)
}

/// What a program could do with these arguments.
pub(super) fn of_command(program: &str, arguments: &[&str]) -> Vec<Finding> {
    let mut findings = vec![of_program(program)];
    findings.extend(aggravating(base(program), arguments));
    findings
}

/// What speaks against a command that is not one of those that only read.
pub(super) fn findings(found: &Found) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some((program, arguments)) = found.words.split_first() {
        let arguments: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
        if !program.is_literal {
            let factor = format!("runs a program that only a shell can name: {}", program.text);
            findings.push(ask(Risk::High, rule::GRAMMAR, factor));
        }
        findings.extend(of_command(&program.text, &arguments));
    }
    findings.extend(found.variables.iter().map(|variable| of_variable(variable)));
    findings
}

/// Arguments that make it worse.
fn aggravating(program: &str, arguments: &[&str]) -> Vec<Finding> {
    let has = |letter: char, long: &str| {
        let short = |word: &&&str| word.starts_with('-') && !word.starts_with("--") && word.contains(letter);
        arguments.contains(&long) || arguments.iter().any(|word| short(&word))
    };
    let recursive = has('r', "--recursive") || has('R', "--recursive");
    let mut findings = Vec::new();
    match program {
        "rm" if recursive && has('f', "--force") => {
            findings.push(ask(Risk::Critical, rule::CHANGES, "deletes recursively without asking: rm -rf"));
        }
        "rm" if recursive => findings.push(ask(Risk::High, rule::CHANGES, "deletes recursively: rm -r")),
        "chmod" | "chown" | "chgrp" if recursive => {
            findings.push(ask(
                Risk::Critical,
                rule::CHANGES,
                format!("changes rights recursively: {program} -R"),
            ));
        }
        "npm" | "yarn" | "pnpm" | "cargo" | "go" | "pip" | "pip3" => {
            let fetches =
                ["install", "i", "add", "ci", "get", "publish", "update", "upgrade", "download", "fetch"];
            if arguments.first().is_some_and(|word| fetches.contains(word)) {
                let mut finding =
                    ask(Risk::High, rule::CHANGES, format!("network: {program} {}", arguments[0]));
                finding.network = true;
                findings.push(finding);
            }
        }
        _ => {}
    }
    findings
}

/// A variable set for a command.
fn of_variable(variable: &str) -> Finding {
    let name = variable.split('=').next().unwrap_or_default();
    let dangerous = [
        "LD_", "DYLD_", "GIT_", "BASH_", "PYTHON", "PERL", "RUBY", "NODE_", "JAVA_", "CARGO_", "RUSTC",
        "npm_",
    ];
    let named = [
        "PATH",
        "IFS",
        "ENV",
        "PAGER",
        "EDITOR",
        "VISUAL",
        "SHELL",
        "HOME",
        "LESSOPEN",
        "MANPAGER",
        "PS4",
        "PROMPT_COMMAND",
    ];
    let risk = match dangerous.iter().any(|start| name.starts_with(start)) || named.contains(&name) {
        true => Risk::High,
        false => Risk::Low,
    };
    ask(risk, rule::GRAMMAR, format!("changes what runs: sets {name}"))
}

/// Credentials and control files among the words and redirects of any command.
pub(super) fn reached(found: &Found) -> Vec<Finding> {
    let program = found.words.first().map_or("", |word| base(&word.text));
    // What is only printed or looked for is no path.
    let words = match program {
        "echo" | "printf" | "true" | "false" | "expr" => &[][..],
        "grep" | "egrep" | "fgrep" | "rg" | "sed" | "awk" | "jq" => found.words.get(2..).unwrap_or_default(),
        "find" => found.words.get(1..2).unwrap_or_default(),
        _ => found.words.get(1..).unwrap_or_default(),
    };
    let mut findings = Vec::new();
    for word in words {
        let text = word.text.as_str();
        findings
            .extend(paths::secret_word(text).map(|what| deny(rule::SECRET, format!("credentials: {what}"))));
        let path = text.split_once('=').map_or(text, |(_, value)| value);
        findings.extend(
            paths::control(path).map(|what| deny(rule::CONTROL, format!("control file of the home: {what}"))),
        );
        if writes(program) && paths::runs_git(path) {
            findings.push(deny(rule::CONTROL, format!("a folder whose files git runs: {text}")));
        }
    }
    for file in &found.files {
        findings
            .extend(paths::secret(&file.path).map(|what| deny(rule::SECRET, format!("credentials: {what}"))));
        findings.extend(
            paths::control(&file.path)
                .map(|what| deny(rule::CONTROL, format!("control file of the home: {what}"))),
        );
        if file.is_written && paths::runs_git(&file.path) {
            findings.push(deny(rule::CONTROL, format!("a folder whose files git runs: {}", file.path)));
        }
        let risk = if file.is_written { Risk::Medium } else { Risk::Low };
        let how = if file.is_written { "writes" } else { "reads" };
        findings.push(ask(risk, rule::GRAMMAR, format!("{how} a file: {}", file.path)));
        findings.extend(paths::outside(&file.path));
    }
    findings
}

fn writes(program: &str) -> bool {
    let kinds = KINDS.iter().filter(|kind| {
        kind.what == "writes files" || kind.what == "deletes" || kind.what == "changes rights"
    });
    kinds.into_iter().any(|kind| kind.programs.contains(&program)) || ["sed", "dd", "git"].contains(&program)
}
