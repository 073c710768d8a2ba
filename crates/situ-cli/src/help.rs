//! The list of commands in `situ --help`, grouped by what people want to do.

use clap::Command;

use crate::cli::STYLES;
use crate::output::terminal_width;

/// The groups, and the commands in them in their order. A command that is in no group is in the last one.
const GROUPS: [(&str, &[&str]); 6] = [
    ("See what runs", &["topic", "top", "node", "service", "blackboard", "graph", "domain", "foxglove"]),
    ("Measure", &["bench"]),
    ("Record", &["record", "play", "flashback", "trace"]),
    ("Other machines", &["bridge"]),
    ("Write code", &["new", "schema", "gen", "proto", "image"]),
    ("Care for the machine", &["doctor", "clean", "completions", "demo", "help"]),
];
/// The cells before the descriptions.
const INDENT: usize = 15;
/// The widest help.
const WIDEST: usize = 110;

/// Gives the program its grouped help.
pub fn grouped(program: Command) -> Command {
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{}\n{{options}}{{after-help}}",
        groups(&program, terminal_width().unwrap_or(WIDEST).min(WIDEST)),
        heading("Options")
    );
    program.help_template(template)
}

fn heading(text: &str) -> String {
    let style = STYLES.get_header();
    format!("{style}{text}:{style:#}")
}

fn groups(program: &Command, width: usize) -> String {
    let mut left: Vec<&Command> = program.get_subcommands().filter(|it| !it.is_hide_set()).collect();
    let mut text = String::new();
    for (index, (title, names)) in GROUPS.iter().enumerate() {
        let mut commands = Vec::new();
        for name in *names {
            match left.iter().position(|it| it.get_name() == *name) {
                Some(at) => {
                    let command = left.remove(at);
                    commands.push((*name, command.get_about().map(ToString::to_string).unwrap_or_default()));
                }
                // clap adds it later.
                None if *name == "help" => {
                    commands.push((*name, "Print this help, or that of a command".into()))
                }
                None => {}
            }
        }
        if index + 1 == GROUPS.len() {
            let rest = left.drain(..).map(|it| (it.get_name(), it.get_about().map(ToString::to_string)));
            commands.extend(rest.map(|(name, about)| (name, about.unwrap_or_default())));
        }
        text.push_str(&format!("{}\n", heading(title)));
        let literal = STYLES.get_literal();
        for (name, about) in commands {
            let padding = " ".repeat((INDENT - 2).saturating_sub(name.len()));
            text.push_str(&format!("  {literal}{name}{literal:#}{padding}"));
            let room = width.saturating_sub(INDENT).max(20);
            let mut used = 0;
            for word in about.split_whitespace() {
                if used > 0 && used + 1 + word.len() > room {
                    text.push_str(&format!("\n{}", " ".repeat(INDENT)));
                    used = 0;
                }
                if used > 0 {
                    text.push(' ');
                    used += 1;
                }
                text.push_str(word);
                used += word.len();
            }
            text.push('\n');
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_command_is_in_one_group_and_fits() {
        let program = Cli::command();
        let styled = groups(&program, 60);
        let text: String =
            styled.split("\x1b[").map(|part| part.split_once('m').map_or(part, |it| it.1)).collect();
        for command in program.get_subcommands().filter(|it| !it.is_hide_set()) {
            let begin = format!("  {} ", command.get_name());
            let lines = text.lines().filter(|line| line.starts_with(&begin)).count();
            assert_eq!(lines, 1, "{begin}\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        assert!(text.contains("\n\nMeasure:\n  bench "), "{text}");
    }
}
