//! Calls of functions, broken over lines as `rustfmt` would break them.

use super::writer::{ARGUMENTS, CodeWriter, SHORT, generic_arguments};

/// A function and its arguments.
#[derive(Clone)]
pub struct Call {
    pub function: String,
    pub arguments: Vec<Argument>,
}

/// An argument of a call.
#[derive(Clone)]
pub enum Argument {
    /// An expression on one line.
    Plain(String),
    /// A call.
    Call(Call),
    /// A closure with these parameters that makes a call. With a reason, the call is in a block of `unsafe`.
    Closure(&'static str, Option<&'static str>, Box<Call>),
}

impl Argument {
    /// The argument on one line; nothing if it has several.
    fn line(&self) -> Option<String> {
        match self {
            Self::Plain(text) => Some(text.clone()),
            Self::Call(call) => call.line(),
            Self::Closure(parameters, None, call) => Some(format!("|{parameters}| {}", call.line()?)),
            Self::Closure(..) => None,
        }
    }
}

impl Call {
    /// A call with plain arguments.
    pub fn new(function: String, arguments: &[&str]) -> Self {
        Self { function, arguments: arguments.iter().map(|it| Argument::Plain((*it).to_owned())).collect() }
    }

    /// The call on one line; nothing if its arguments are too long for that.
    pub fn line(&self) -> Option<String> {
        let arguments: Option<Vec<String>> = self.arguments.iter().map(Argument::line).collect();
        let arguments = arguments?.join(", ");
        let fits = arguments.len() <= ARGUMENTS || self.is_assertion();
        fits.then(|| format!("{}({arguments})", self.function))
    }

    /// Whether it is the macro, whose condition may be as long as the line.
    fn is_assertion(&self) -> bool {
        self.function.ends_with('!')
    }
}

impl CodeWriter {
    /// A call, with `end` behind it.
    pub fn call(&mut self, call: &Call, end: &str) {
        self.call_from("", call, end);
    }

    /// A call between `start` and `end`.
    pub fn call_from(&mut self, start: &str, call: &Call, end: &str) {
        let line = call.line().map(|it| format!("{start}{it}{end}"));
        if let Some(line) = line.filter(|it| self.fits(it.len())) {
            return self.line(line);
        }
        // What is assigned may stand on a line of its own.
        let assigned = start.strip_suffix(" = ").zip(call.line());
        match assigned.filter(|(_, it)| self.fits(it.len() + end.len() + 4)) {
            Some((left, line)) => self.assign(left, &line, end),
            None => self.broken_call(start, call, end),
        }
    }

    /// A call of an unsafe function, as the result of a function.
    pub fn unsafe_call(&mut self, call: &Call) {
        match call.line().map(|it| format!("unsafe {{ {it} }}")).filter(|it| self.fits(it.len())) {
            Some(line) => self.line(line),
            None => self.block("unsafe", |code| code.call(call, "")),
        }
    }

    /// An arm of a `match` that calls a function.
    pub fn arm(&mut self, pattern: &str, call: &Call) {
        match call.line().map(|it| format!("{pattern} => {it},")).filter(|it| self.fits(it.len())) {
            Some(line) => self.line(line),
            None => self.block(format!("{pattern} =>"), |code| code.call(call, "")),
        }
    }

    /// A call whose result goes through a further method, with `end` behind that.
    pub fn call_then(&mut self, call: &Call, method: &str, end: &str) {
        let line = call.line();
        if let Some(line) = line.as_ref().filter(|it| self.fits(it.len() + method.len() + end.len())) {
            self.line(format!("{line}{method}{end}"));
        } else if let Some(line) = line.filter(|it| self.fits(it.len() + 1)) {
            self.line(line);
            self.indent();
            self.line(format!("{method}{end}"));
            self.dedent();
        } else {
            self.broken_call("", call, "");
            self.line(format!("{method}{end}"));
        }
    }

    /// A call over several lines.
    fn broken_call(&mut self, start: &str, call: &Call, end: &str) {
        let function = format!("{start}{}", call.function);
        let is_too_long = !self.fits(function.len() + 1) || call.arguments.is_empty();
        if let Some((head, arguments)) = generic_arguments(&function).filter(|_| is_too_long) {
            self.line(format!("{head}<"));
            self.indent();
            arguments.iter().for_each(|argument| self.ty(argument, ","));
            self.dedent();
            let inner = Call { function: ">".into(), arguments: call.arguments.clone() };
            return self.call(&inner, end);
        }
        if self.call_with_closure(&function, &call.arguments, end) {
            return;
        }
        self.line(format!("{function}("));
        self.indent();
        // A comma might mean something to a macro.
        let comma = if call.is_assertion() { "" } else { "," };
        let plain: Option<Vec<String>> = call.arguments.iter().map(Argument::line).collect();
        let is_short = |it: &String| it.len() <= SHORT && !it.contains(" + ");
        if let Some(plain) = plain.filter(|it| it.iter().all(is_short)) {
            self.line(format!("{}{comma}", plain.join(", ")));
            self.dedent();
            return self.line(format!("){end}"));
        }
        for argument in &call.arguments {
            match (argument.line().filter(|it| self.fits(it.len() + 1)), argument) {
                (Some(line), _) => self.line(format!("{line}{comma}")),
                (None, Argument::Plain(text)) => self.line(format!("{text}{comma}")),
                (None, Argument::Call(call)) => self.call(call, comma),
                (None, Argument::Closure(parameters, reason, call)) => {
                    self.closed(format!("|{parameters}|"), "},", |code| code.body(*reason, call));
                }
            }
        }
        self.dedent();
        self.line(format!("){end}"));
    }

    /// A call whose last argument is a closure that begins on the line of the call; false if it cannot.
    fn call_with_closure(&mut self, function: &str, arguments: &[Argument], end: &str) -> bool {
        let Some((last, others)) = arguments.split_last() else { return false };
        let others: Option<Vec<String>> = others.iter().map(Argument::line).collect();
        let mut first = others.unwrap_or_default();
        let parameters = match last {
            // What the closure calls must stand on one line.
            Argument::Closure(parameters, _, call) => {
                if !call.line().is_some_and(|it| self.fits(it.len() + 4)) {
                    return false;
                }
                parameters
            }
            Argument::Plain(text) if first.is_empty() => match text[1..].split_once('|') {
                Some((parameters, _)) => parameters,
                None => return false,
            },
            Argument::Plain(_) | Argument::Call(_) => return false,
        };
        first.push(format!("|{parameters}|"));
        let first = first.join(", ");
        if first.len() + 2 > ARGUMENTS || !self.fits(function.len() + first.len() + 3) {
            return false;
        }
        self.closed(format!("{function}({first}"), &format!("}}){end}"), |code| match last {
            Argument::Closure(_, reason, call) => code.body(*reason, call),
            Argument::Plain(text) => code.line(text[parameters.len() + 2..].trim_start()),
            Argument::Call(call) => code.call(call, ""),
        });
        true
    }

    /// What a closure does.
    fn body(&mut self, reason: Option<&str>, call: &Call) {
        match reason {
            Some(reason) => {
                self.line(format!("// SAFETY: {reason}."));
                self.unsafe_call(call);
            }
            None => self.call(call, ""),
        }
    }

    /// A chain of calls between `start` and `end`.
    pub fn chain(&mut self, start: &str, calls: &[Call], end: &str) {
        let Some((first, [middle @ .., last])) = calls.split_first() else {
            return calls.iter().for_each(|call| self.call_from(start, call, end));
        };
        let joined: Option<String> = calls.iter().map(Call::line).collect();
        // A single call may be as long as the line.
        let joined = joined.filter(|it| it.len() <= ARGUMENTS || middle.is_empty());
        let whole = joined.map(|it| format!("{start}{it}{end}"));
        if let Some(whole) = whole.filter(|it| self.fits(it.len())) {
            return self.line(whole);
        }
        self.call_from(start, first, "");
        self.indent();
        middle.iter().for_each(|call| self.call(call, ""));
        self.call(last, end);
        self.dedent();
    }
}
