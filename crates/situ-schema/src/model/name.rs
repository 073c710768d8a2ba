//! Names of definitions, and the numbers that stand for them.

/// Names a [`Definition`](super::Definition) of a [`crate::Schema`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub(crate) u32);

impl TypeId {
    /// The position of the definition in [`crate::Schema::definitions`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A fully qualified name such as `sensor_msgs::msg::Image`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name {
    text: String,
}

impl Name {
    /// From its text, the parts separated by `::`.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }

    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The last part: `Image`.
    pub fn simple(&self) -> &str {
        self.text.rsplit("::").next().unwrap_or(&self.text)
    }

    /// All parts but the last: `["sensor_msgs", "msg"]`.
    pub fn modules(&self) -> Vec<&str> {
        let mut parts: Vec<&str> = self.text.split("::").collect();
        parts.pop();
        parts
    }

    /// The text in front of the last part, without its `::`: `sensor_msgs::msg`, or the empty string.
    pub fn scope(&self) -> &str {
        self.text.rfind("::").map_or("", |at| &self.text[..at])
    }
}

/// `PointCloud2` to `point_cloud2`, as ROS 2 names its headers.
pub(crate) fn snake_case(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut snake = String::with_capacity(name.len() + 4);
    for (at, &c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|it| chars[it]);
        let after = chars.get(at + 1);
        let begins_word = c.is_ascii_uppercase()
            && before.is_some_and(|it| {
                it.is_ascii_lowercase()
                    || it.is_ascii_digit()
                    || (it != '_' && after.is_some_and(char::is_ascii_lowercase))
            });
        if begins_word {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}
