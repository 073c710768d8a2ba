//! Rules of protoc that protox does not have or applies differently: JSON names, naming style, visibility.

use std::collections::BTreeMap;

use super::descriptor::{EnumType, Features, Field, File, MessageType};
use super::edition::{Edition, Visibility};
use super::position::byte_range;

/// What is wrong with a file, and where in its text.
#[derive(Debug)]
pub struct Broken {
    pub message: String,
    pub labels: Vec<((usize, usize), String)>,
    pub help: String,
}

/// The features of a file that sets none.
pub fn defaults(file: &File) -> Features {
    match file.syntax.as_str() {
        "proto3" => Features::PROTO3,
        "editions" => Features::of_edition(file.edition),
        _ => Features::PROTO2,
    }
}

/// The place of an element in the text of its descriptor, or the beginning of the text if it is not known.
fn place(file: &File, text: &str, path: &[i32]) -> (usize, usize) {
    let mut all = file.source_code_info.iter().flat_map(|it| &it.location);
    all.find(|it| it.path == path).and_then(|it| byte_range(text, &it.span)).unwrap_or_default()
}

/// The default JSON name of a field.
fn json_name(name: &str) -> String {
    let mut json = String::new();
    let mut is_behind_line = false;
    for letter in name.chars() {
        if letter == '_' {
            is_behind_line = true;
            continue;
        }
        json.push(if is_behind_line { letter.to_ascii_uppercase() } else { letter });
        is_behind_line = false;
    }
    json
}

/// Finds fields with the same JSON name. protox refuses them all; protoc allows them in proto2 and where an
/// option says so. Generated code does not depend on these names. Returns insertions that give allowed fields
/// another JSON name.
pub fn json_names(file: &File, edition: &Edition) -> Result<Vec<(usize, String)>, Broken> {
    let mut inserted = Vec::new();
    let features = Features::within(edition.features.get(&Vec::new()).copied(), defaults(file));
    let mut check = NamesInJson { file, edition, inserted: &mut inserted };
    for (index, message) in (0..).zip(&file.message_type) {
        check.message(message, features, &mut vec![message.name.clone()], &mut vec![4, index])?;
    }
    Ok(inserted)
}

struct NamesInJson<'a> {
    file: &'a File,
    edition: &'a Edition,
    inserted: &'a mut Vec<(usize, String)>,
}

impl NamesInJson<'_> {
    fn message(
        &mut self,
        it: &MessageType,
        around: Features,
        names: &mut Vec<String>,
        path: &mut Vec<i32>,
    ) -> Result<(), Broken> {
        let features = Features::within(self.edition.features.get(names).copied(), around);
        let mut options = it.options.iter().flat_map(|it| &it.uninterpreted);
        let is_asked_for = options.any(|it| {
            let is_it = it.name.iter().map(|part| &part.text).eq(["deprecated_legacy_json_field_conflicts"]);
            is_it && it.identifier == "true"
        });
        let is_allowed = is_asked_for || features.json_format == 2;
        let mut defaults: BTreeMap<String, usize> = BTreeMap::new();
        let mut taken: BTreeMap<String, usize> = BTreeMap::new();
        for (index, field) in it.field.iter().enumerate() {
            let default = json_name(&field.name);
            let first = *defaults.entry(default.clone()).or_insert(index);
            if first != index && !is_allowed {
                return Err(self.clash(it, &default, [first, index], path, false));
            }
            let name = field.json_name.clone().unwrap_or_else(|| default.clone());
            let is_custom =
                |field: &Field| field.json_name.as_ref().is_some_and(|it| *it != json_name(&field.name));
            let Some(first) = taken.get(&name).copied() else {
                taken.insert(name, index);
                continue;
            };
            let are_custom = is_custom(&it.field[first]) && is_custom(field);
            if are_custom || !is_allowed {
                return Err(self.clash(it, &name, [first, index], path, are_custom));
            }
            // At most one of them has a custom name. The other one is renamed.
            let renamed = if is_custom(field) { first } else { index };
            if renamed == first {
                taken.insert(name, index);
            }
            if it.field[renamed].json_name.is_none() {
                self.rename(&it.field[renamed], &[path.as_slice(), &[2, renamed as i32]].concat());
            }
        }
        for (index, nested) in (0..).zip(&it.nested_type) {
            names.push(nested.name.clone());
            path.extend([3, index]);
            self.message(nested, features, names, path)?;
            path.truncate(path.len() - 2);
            names.pop();
        }
        Ok(())
    }

    /// Gives a field a unique JSON name.
    fn rename(&mut self, field: &Field, path: &[i32]) {
        let text = &self.edition.text;
        let (_, number_end) = place(self.file, text, &[path, &[3]].concat());
        let options = place(self.file, text, &[path, &[8]].concat());
        let option = format!("json_name = \"{}#{}\"", field.name, field.number);
        if options == (0, 0) {
            self.inserted.push((number_end, format!(" [{option}]")));
        } else {
            // After the bracket.
            let begin = text.get(number_end..options.1).and_then(|it| it.find('[')).unwrap_or(0);
            self.inserted.push((number_end + begin + 1, format!("{option}, ")));
        }
    }

    fn clash(
        &self,
        it: &MessageType,
        name: &str,
        fields: [usize; 2],
        path: &[i32],
        are_custom: bool,
    ) -> Broken {
        let [first, second] = fields.map(|index| &it.field[index].name);
        let label = |index: usize| {
            let (start, end) = place(self.file, &self.edition.text, &[path, &[2, index as i32, 1]].concat());
            (self.edition.original(start), self.edition.original(end))
        };
        let message = format!("`{first}` and `{second}` of `{}` have the same JSON name, `{name}`", it.name);
        let help = if are_custom {
            "give one of them another json_name"
        } else {
            "rename one of them; in an edition, `features.json_format = LEGACY_BEST_EFFORT` allows it"
        };
        Broken {
            message,
            labels: vec![
                (label(fields[1]), "the second one".to_owned()),
                (label(fields[0]), "the first one".to_owned()),
            ],
            help: help.to_owned(),
        }
    }
}

/// Checks a name against the style of edition 2024, and returns protoc's message if it breaks it.
fn style(kind: &str, name: &str) -> Option<String> {
    let is_type = matches!(kind, "Message" | "Enum");
    let (case, is_first): (_, fn(char) -> bool) = match kind {
        _ if is_type => ("TitleCase", |it| it.is_ascii_uppercase()),
        "Enum value" => ("UPPER_SNAKE_CASE", |it| it.is_ascii_uppercase()),
        _ => ("lower_snake_case", |it| it.is_ascii_lowercase()),
    };
    let is_fine = |it: char| match it {
        '_' => !is_type,
        '.' => kind == "Package",
        _ => is_first(it) || it.is_ascii_digit() || is_type && it.is_ascii_lowercase(),
    };
    if !name.chars().all(is_fine) || !name.starts_with(is_first) {
        return Some(format!("{kind} name `{name}` should be {case}"));
    }
    // A letter must follow each underscore.
    let is_lonely = |(_, rest): (&str, &str)| !rest.starts_with(|it: char| it.is_ascii_alphabetic());
    let mut rest = name;
    while let Some(parts) = rest.split_once('_') {
        if is_lonely(parts) {
            return Some(format!("{kind} name `{name}` should have a letter after each `_`"));
        }
        rest = parts.1;
    }
    None
}

/// The first name that breaks the style of edition 2024, where that style is enforced.
pub fn naming_style(file: &File, text: &str) -> Option<Broken> {
    let own = file.options.as_ref().and_then(|it| it.features);
    let features = Features::within(own, defaults(file));
    let style = Style { file, text };
    if features.enforce_naming_style == STYLE2024
        && !file.package.is_empty()
        && let Some(message) = self::style("Package", &file.package)
    {
        return Some(style.broken(message, &[2]));
    }
    let messages = (0..).zip(&file.message_type);
    messages
        .map(|(index, it)| style.message(it, features, &[4, index]))
        .chain((0..).zip(&file.enum_type).map(|(index, it)| style.enumeration(it, features, &[5, index])))
        .chain([style.fields(&file.extension, features, &[7])])
        .find_map(|it| it)
}

const STYLE2024: i32 = 1;

struct Style<'a> {
    file: &'a File,
    text: &'a str,
}

impl Style<'_> {
    fn broken(&self, message: String, path: &[i32]) -> Broken {
        Broken {
            message,
            labels: vec![(place(self.file, self.text, path), "this name".to_owned())],
            help: "rename it, or set `option features.enforce_naming_style = STYLE_LEGACY;`".to_owned(),
        }
    }

    fn check(&self, kind: &str, name: &str, features: Features, path: &[i32]) -> Option<Broken> {
        let message = style(kind, name).filter(|_| features.enforce_naming_style == STYLE2024)?;
        Some(self.broken(message, &[path, &[1]].concat()))
    }

    fn message(&self, it: &MessageType, around: Features, path: &[i32]) -> Option<Broken> {
        if it.options.as_ref().is_some_and(|it| it.map_entry) {
            return None;
        }
        let features = Features::within(it.options.as_ref().and_then(|it| it.features), around);
        let inner = |number: i32, index: i32| [path, &[number, index]].concat();
        self.check("Message", &it.name, features, path)
            .or_else(|| self.fields(&it.field, features, &[path, &[2]].concat()))
            .or_else(|| {
                (0..)
                    .zip(&it.nested_type)
                    .find_map(|(index, it)| self.message(it, features, &inner(3, index)))
            })
            .or_else(|| {
                (0..)
                    .zip(&it.enum_type)
                    .find_map(|(index, it)| self.enumeration(it, features, &inner(4, index)))
            })
            .or_else(|| self.fields(&it.extension, features, &[path, &[6]].concat()))
            .or_else(|| {
                (0..)
                    .zip(&it.oneof_decl)
                    .find_map(|(index, it)| self.check("Oneof", &it.name, features, &inner(8, index)))
            })
    }

    fn fields(&self, all: &[Field], around: Features, path: &[i32]) -> Option<Broken> {
        (0..).zip(all).find_map(|(index, it)| {
            let features = Features::within(it.options.as_ref().and_then(|it| it.features), around);
            self.check("Field", &it.name, features, &[path, &[index]].concat())
        })
    }

    fn enumeration(&self, it: &EnumType, around: Features, path: &[i32]) -> Option<Broken> {
        let features = Features::within(it.options.as_ref().and_then(|it| it.features), around);
        self.check("Enum", &it.name, features, path).or_else(|| {
            (0..).zip(&it.value).find_map(|(index, it)| {
                self.check("Enum value", &it.name, features, &[path, &[2, index]].concat())
            })
        })
    }
}

/// Symbols that other files may not name, by full name: the file of the symbol, and the reason.
pub type Hidden = BTreeMap<String, (String, &'static str)>;

/// Adds a file's symbols that are local to it.
pub fn hide(file: &File, edition: &Edition, hidden: &mut Hidden) {
    let own = file.options.as_ref().and_then(|it| it.features);
    let default = Features::within(own, defaults(file)).default_symbol_visibility;
    let scope = if file.package.is_empty() { String::new() } else { format!(".{}", file.package) };
    let mut add = |path: &[String]| {
        let why = match edition.visibility.get(path) {
            Some(Visibility::Export) => return,
            Some(Visibility::Local) => "it is marked `local`",
            None if default <= EXPORT_ALL || default == EXPORT_TOP_LEVEL && path.len() == 1 => return,
            None => "its file's features.default_symbol_visibility makes it local",
        };
        hidden.insert(format!("{scope}.{}", path.join(".")), (file.name.clone(), why));
    };
    fn walk(
        messages: &[MessageType],
        enums: &[EnumType],
        path: &mut Vec<String>,
        add: &mut dyn FnMut(&[String]),
    ) {
        for it in enums {
            path.push(it.name.clone());
            add(path);
            path.pop();
        }
        for it in messages.iter().filter(|it| it.options.as_ref().is_none_or(|it| !it.map_entry)) {
            path.push(it.name.clone());
            add(path);
            walk(&it.nested_type, &it.enum_type, path, add);
            path.pop();
        }
    }
    walk(&file.message_type, &file.enum_type, &mut Vec::new(), &mut add);
}

const EXPORT_ALL: i32 = 1;
const EXPORT_TOP_LEVEL: i32 = 2;

/// The first name in a file that is local to another file, or comes from one that is imported only for its
/// options.
pub fn visibility(
    file: &File,
    text: &str,
    hidden: &Hidden,
    only_options: &BTreeMap<String, String>,
) -> Option<Broken> {
    fn fields(all: &[Field], path: &[i32], visit: &mut dyn FnMut(&str, &[i32])) {
        for (index, it) in (0..).zip(all) {
            visit(&it.type_name, &[path, &[index, 6]].concat());
            visit(&it.extendee, &[path, &[index, 2]].concat());
        }
    }
    fn walk(it: &MessageType, path: &[i32], visit: &mut dyn FnMut(&str, &[i32])) {
        fields(&it.field, &[path, &[2]].concat(), visit);
        fields(&it.extension, &[path, &[6]].concat(), visit);
        for (index, it) in (0..).zip(&it.nested_type) {
            walk(it, &[path, &[3, index]].concat(), visit);
        }
    }
    let mut broken = None;
    let mut visit = |name: &str, path: &[i32]| {
        if broken.is_some() {
            return;
        }
        let (message, help) = match (hidden.get(name), only_options.get(name)) {
            (Some((other, why)), _) if *other != file.name => (
                format!("`{}` is local to {other}: {why}", &name[1..]),
                "mark it `export` there, or use another type",
            ),
            (_, Some(other)) => (
                format!("`{}` is in {other}, which is imported only for its options", &name[1..]),
                "import the file without `option`",
            ),
            _ => return,
        };
        broken = Some(Broken {
            message,
            labels: vec![(place(file, text, path), "named here".to_owned())],
            help: help.to_owned(),
        });
    };
    for (index, it) in (0..).zip(&file.message_type) {
        walk(it, &[4, index], &mut visit);
    }
    fields(&file.extension, &[7], &mut visit);
    broken
}

#[cfg(test)]
mod tests {
    use super::style;

    /// The verdicts of protoc 35.1 on these names in edition 2024.
    #[test]
    fn style_is_that_of_protoc() {
        for (kind, good, bad) in [
            ("Message", "A A1 AB FooBar", "a A_b fooBar _A"),
            ("Enum", "E E1", "e E_x"),
            ("Field", "a c1_d d2 foo_bar", "xB e_1 f__b b_ _c d_1x Foo"),
            ("Oneof", "o_o choice", "Oo"),
            ("Enum value", "F1 W_X Y2X", "Y_1 z YX_ Q__X _R"),
            ("Package", "a1.b_c a._b", "A.b a.b_1"),
        ] {
            good.split(' ').for_each(|name| assert_eq!(style(kind, name), None, "{kind} {name}"));
            bad.split(' ').for_each(|name| assert!(style(kind, name).is_some(), "{kind} {name}"));
        }
    }
}
