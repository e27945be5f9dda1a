//! The binary `synod`: it **speaks**. The only place that names concrete parts and puts them together.

mod args;
mod commands;
mod failure;
mod home;
mod out;
mod project;
mod prompt;
mod region;
mod site;
mod templates;
mod text;
mod view;
mod wire;

use clap::Parser;

fn main() -> std::process::ExitCode {
    // Started again inside a sandbox, to run a command there.
    if adapters::sandbox::inner::is_wanted() {
        return adapters::sandbox::inner::main();
    }
    let args = args::Args::parse_from(args::given(std::env::args_os()));
    let out = out::Out::new(args.json, args.color, !args.no_input);
    let exit = commands::run(args, &out).unwrap_or_else(|error| failure::report(&error, &out));
    failure::unless_lost(exit, &out).into()
}
