//! Prints objects one after the other, as one list where the format has lists.

use std::io::{self, Write};

use document::Value;

use super::{Output, name, pretty};
use crate::cli::{Format, ObjectFormat};

/// A list of objects that is printed item by item.
pub(crate) struct ObjectList {
    format: ObjectFormat,
    /// How many objects were printed.
    count: usize,
}

impl ObjectList {
    pub(crate) fn new(format: ObjectFormat) -> Self {
        Self { format, count: 0 }
    }

    /// Prints an object.
    pub(crate) fn add(&mut self, object: &Value, output: &mut Output) -> io::Result<()> {
        let first = self.count == 0;
        self.count += 1;
        match self.format {
            ObjectFormat::Yaml => output.value(object, Format::Yaml),
            ObjectFormat::Name => writeln!(output.stdout, "{}", name(object)),
            ObjectFormat::Json => {
                let before = if first { HEAD } else { "," };
                // Texts contain no line breaks, so every line can be indented.
                let item = pretty(object).replace('\n', "\n    ");
                write!(output.stdout, "{before}\n    {item}")
            }
        }
    }

    /// Ends the list.
    pub(crate) fn end(&mut self, output: &mut Output) -> io::Result<()> {
        match self.format {
            ObjectFormat::Yaml | ObjectFormat::Name => Ok(()),
            ObjectFormat::Json if self.count == 0 => writeln!(output.stdout, "{HEAD}{TAIL}"),
            ObjectFormat::Json => writeln!(output.stdout, "\n  {TAIL}"),
        }
    }
}

const HEAD: &str = "{\n  \"apiVersion\": \"v1\",\n  \"items\": [";
const TAIL: &str = "],\n  \"kind\": \"List\"\n}";
