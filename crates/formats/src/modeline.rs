//! The first line of YAML files that Synod makes.

use domain::layout;

/// The first line of a YAML file that Synod makes, `depth` folders below the home: editors find the schema by it.
pub fn modeline(kind: &str, depth: usize) -> String {
    format!("# yaml-language-server: $schema={}{}/{kind}.json\n", "../".repeat(depth), layout::SCHEMAS)
}
