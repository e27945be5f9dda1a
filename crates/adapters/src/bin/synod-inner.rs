//! The inner program alone, for tests of cages.

fn main() -> std::process::ExitCode {
    adapters::sandbox::inner::main()
}
