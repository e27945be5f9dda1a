//! Where a socket is, however deep its home lies.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// The longest name of a socket that the system takes.
const NAME_BYTES_MAX: usize = 107;

/// Does something with the name of a socket. One that is too long for the system goes by way of its open folder.
pub(crate) fn within<T>(socket: &Path, act: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let (Some(folder), Some(name)) = (socket.parent(), socket.file_name()) else { return act(socket) };
    if socket.as_os_str().len() <= NAME_BYTES_MAX {
        return act(socket);
    }
    let folder = File::open(folder)?;
    act(&Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name))
}
