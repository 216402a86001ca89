//! Themes: a name, or JSON with colours in the format of VHS.

/// A colour: red, green, blue.
pub type Rgb = (u8, u8, u8);

/// The value of `Set Theme`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Theme {
    /// The name of a theme. The renderer decides whether it knows it.
    Named(String),
    /// Colours.
    Colors(Box<ThemeColors>),
}

/// The colours of a theme. Those that are not set are the renderer's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThemeColors {
    /// The name.
    pub name: Option<String>,
    /// The colour of the background.
    pub background: Option<Rgb>,
    /// The colour of text.
    pub foreground: Option<Rgb>,
    /// The colour of the cursor.
    pub cursor: Option<Rgb>,
    /// The colour of text below the cursor.
    pub cursor_accent: Option<Rgb>,
    /// The background of a selection.
    pub selection: Option<Rgb>,
    /// The 16 colours of the palette: black, red, green, yellow, blue, magenta, cyan, white, then the bright ones.
    pub palette: [Option<Rgb>; 16],
}
