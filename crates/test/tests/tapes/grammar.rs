//! Every line of the grammar: what it means in canonical form, or the error.

use crate::check;

#[test]
fn outputs() {
    check(&[
        ("Output demo.gif", r#"Output "demo.gif""#),
        (r#"Output "my demo.GIF""#, r#"Output "my demo.GIF""#),
        ("Output /tmp/x.svg", r#"Output "/tmp/x.svg""#),
        (
            "Output out.png Output out.cast Output out.txt Output out.ascii Output out.test Output out.html",
            r#"Output "out.png" | Output "out.cast" | Output "out.txt" | Output "out.ascii" | Output "out.test" | Output "out.html""#,
        ),
        (
            "Output out.mp4 Output out.webm Output frames/",
            r#"Output "out.mp4" | Output "out.webm" | Output "frames/""#,
        ),
        ("Output ~/1.gif # comment", r#"Output "~/1.gif""#),
        ("Output 2.gif#comment", r#"Output "2.gif""#),
        ("Output", "1:7: `Output` needs a file: write `Output demo.gif`"),
        (r#"Output """#, "1:10: `Output` needs a file: write `Output demo.gif`"),
        (
            "Output demo",
            r#"1:8: the format of the output "demo" is not known: use .gif, .svg, .png, .cast, .txt, .ascii or .html"#,
        ),
        (
            "Output demo.bmp",
            r#"1:8: the format of the output "demo.bmp" is not known: use .gif, .svg, .png, .cast, .txt, .ascii or .html"#,
        ),
        (
            "Output demo.jpeg Enter",
            r#"1:8: the format of the output "demo.jpeg" is not known: use .gif, .svg, .png, .cast, .txt, .ascii or .html"#,
        ),
    ]);
}

#[test]
fn requirements() {
    check(&[
        ("Require vim", r#"Require "vim""#),
        (r#"Require "my program""#, r#"Require "my program""#),
        ("Require /usr/bin/g++", r#"Require "/usr/bin/g++""#),
        ("Require", "1:8: `Require` needs a program: write `Require vim`"),
        ("Require # vim", "1:8: `Require` needs a program: write `Require vim`"),
    ]);
}

#[test]
fn settings() {
    check(&[
        ("Set Shell bash", r#"Set Shell "bash""#),
        (r#"Set Shell "bash --norc""#, r#"Set Shell "bash --norc""#),
        ("Set Shell", r#"1:10: `Set Shell` needs a program: write `Set Shell "bash"`"#),
        (r#"Set Shell """#, r#"1:11: `Set Shell` needs a program: write `Set Shell "bash"`"#),
        ("Set Shell 5", r#"1:11: `Set Shell` needs a program, not "5": write `Set Shell "bash"`"#),
        (
            "Set Shell bash --norc",
            r#"1:11: the value "bash --norc" of `Set Shell` has no quotes: write `Set Shell "bash"`"#,
        ),
        ("Set Width 1200 Set Height 600", "Set Width 1200 | Set Height 600"),
        (
            "Set Width 0",
            r#"1:11: the value "0" of `Set Width` is not valid: write a whole number from 1 to 16384"#,
        ),
        ("Set Width 16384 Set Height 16384", "Set Width 16384 | Set Height 16384"),
        (
            "Set Height 16385",
            r#"1:12: the value "16385" of `Set Height` is not valid: write a whole number from 1 to 16384"#,
        ),
        (
            "Set Width 12.5",
            r#"1:11: the value "12.5" of `Set Width` is not valid: write a whole number from 1 to 16384"#,
        ),
        (
            "Set Width 1200px",
            r#"1:11: the value "1200px" of `Set Width` is not a number: write `Set Width 20`"#,
        ),
        (
            r#"Set Width "1200""#,
            r#"1:11: `Set Width` needs a number, not "1200": write `Set Width 20`"#,
        ),
        ("Set Columns 80 Set Rows 24", "Set Columns 80 | Set Rows 24"),
        (
            "Set Columns 1 Set Rows 1 Set Columns 1000 Set Rows 500",
            "Set Columns 1 | Set Rows 1 | Set Columns 1000 | Set Rows 500",
        ),
        (
            "Set Columns 0",
            r#"1:13: the value "0" of `Set Columns` is not valid: write a whole number from 1 to 1000"#,
        ),
        (
            "Set Columns 1001",
            r#"1:13: the value "1001" of `Set Columns` is not valid: write a whole number from 1 to 1000"#,
        ),
        (
            "Set Rows 0",
            r#"1:10: the value "0" of `Set Rows` is not valid: write a whole number from 1 to 500"#,
        ),
        (
            "Set Rows 501",
            r#"1:10: the value "501" of `Set Rows` is not valid: write a whole number from 1 to 500"#,
        ),
        ("Set Rows -1", r#"1:10: `Set Rows` needs a number, not "-1": write `Set Rows 30`"#),
    ]);
}

#[test]
fn settings_of_time_and_waits() {
    check(&[
        ("Set TypingSpeed 50ms", "Set TypingSpeed 50ms"),
        ("Set TypingSpeed .1", "Set TypingSpeed 100ms"),
        ("Set TypingSpeed 0", "Set TypingSpeed 0s"),
        ("Set TypingSpeed 1.5s", "Set TypingSpeed 1500ms"),
        (
            "Set TypingSpeed fast",
            r#"1:17: `Set TypingSpeed` needs a time, not "fast": write `Set TypingSpeed 50ms`"#,
        ),
        ("Set TypingSpeed", "1:16: `Set TypingSpeed` needs a time: write `Set TypingSpeed 50ms`"),
        ("Set WaitTimeout 5s Set WaitTimeout 1m", "Set WaitTimeout 5s | Set WaitTimeout 60s"),
        (
            "Set WaitTimeout 0",
            r#"1:17: the time "0" of `Set WaitTimeout` must be more than 0: write `Set WaitTimeout 5s`"#,
        ),
        ("Set WaitPattern /> $/", "Set WaitPattern /> $/"),
        (r#"Set WaitPattern "a/b""#, r"Set WaitPattern /a\/b/"),
        ("Set WaitPattern /(/", r#"1:18: the pattern "(" is wrong at byte 0: unclosed group"#),
        (r#"Set WaitPattern "x(""#, r#"1:19: the pattern "x(" is wrong at byte 1: unclosed group"#),
        ("Set WaitPattern foo", "Set WaitPattern /foo/"),
    ]);
}

#[test]
fn themes() {
    check(&[
        (r#"Set Theme "Catppuccin Mocha""#, r#"Set Theme "Catppuccin Mocha""#),
        ("Set Theme Dracula", r#"Set Theme "Dracula""#),
        (r#"Set Theme """#, r#"Set Theme """#),
        (
            "Set Theme Catppuccin Mocha",
            r#"1:11: the value "Catppuccin Mocha" of `Set Theme` has no quotes: write `Set Theme "Catppuccin Mocha"`"#,
        ),
        (
            "Set Theme",
            r#"1:10: `Set Theme` needs a name or JSON: write `Set Theme "Catppuccin Mocha"`"#,
        ),
        (
            r##"Set Theme { "name": "W", "black": "#535178", "purple": "#AA7FF0", "cursorColor": "#fff", "selectionBackground": "#3d3c5880", "meta": {"x": 1} } Enter"##,
            r##"Set Theme {"black":"#535178","cursor":"#ffffff","magenta":"#aa7ff0","name":"W","selection":"#3d3c58"} | Enter"##,
        ),
        ("Set Theme {} Enter", "Set Theme {} | Enter"),
        (
            r#"Set Theme { "black": "red" } Enter"#,
            r##"1:13: the colour "red" of "black" in the theme is not known: write `Set Theme { "background": "#29283b" }`"##,
        ),
        (
            r#"Set Theme { "black": 5 }"#,
            r##"1:13: the colour "5" of "black" in the theme is not known: write `Set Theme { "background": "#29283b" }`"##,
        ),
        (
            "Set Theme { black } Foo",
            r##"1:13: the theme is not valid JSON: key must be a string: write `Set Theme { "background": "#29283b" }`"##,
        ),
        (
            r#"Set Theme { "a": 1"#,
            r##"1:18: the theme is not valid JSON: EOF while parsing an object: write `Set Theme { "background": "#29283b" }`"##,
        ),
    ]);
}

#[test]
fn settings_of_looks() {
    check(&[
        (r#"Set FontFamily "DejaVu Sans Mono""#, r#"Set FontFamily "DejaVu Sans Mono""#),
        ("Set FontFamily Monoflow", r#"Set FontFamily "Monoflow""#),
        (
            "Set FontFamily JetBrains Mono",
            r#"1:16: the value "JetBrains Mono" of `Set FontFamily` has no quotes: write `Set FontFamily "Monoflow"`"#,
        ),
        ("Set FontSize 22", "Set FontSize 22"),
        (
            "Set FontSize 0",
            r#"1:14: the value "0" of `Set FontSize` is not valid: write a whole number from 1 to 16384"#,
        ),
        (
            "Set FontSize big",
            r#"1:14: `Set FontSize` needs a number, not "big": write `Set FontSize 20`"#,
        ),
        ("Set LetterSpacing 1.5", "Set LetterSpacing 1.5"),
        (
            "Set LetterSpacing x",
            r#"1:19: `Set LetterSpacing` needs a number, not "x": write `Set LetterSpacing 1`"#,
        ),
        ("Set LineHeight 1.8", "Set LineHeight 1.8"),
        (
            "Set LineHeight 0",
            r#"1:16: the value "0" of `Set LineHeight` is not valid: write a number above 0, up to 100"#,
        ),
        ("Set LineHeight 100", "Set LineHeight 100"),
        (
            "Set LineHeight 100.1",
            r#"1:16: the value "100.1" of `Set LineHeight` is not valid: write a number above 0, up to 100"#,
        ),
        ("Set Framerate 60", "Set Framerate 60"),
        (
            "Set Framerate 0",
            r#"1:15: the value "0" of `Set Framerate` is not valid: write a whole number from 1 to 100"#,
        ),
        ("Set Framerate 100", "Set Framerate 100"),
        (
            "Set Framerate 101",
            r#"1:15: the value "101" of `Set Framerate` is not valid: write a whole number from 1 to 100"#,
        ),
        ("Set PlaybackSpeed .5", "Set PlaybackSpeed 0.5"),
        (
            "Set PlaybackSpeed 0",
            r#"1:19: the value "0" of `Set PlaybackSpeed` is not valid: write a number above 0, up to 100"#,
        ),
        (
            "Set PlaybackSpeed 1.2.3",
            r#"1:19: the value "1.2.3" of `Set PlaybackSpeed` is not valid: write a number above 0, up to 100"#,
        ),
        ("Set LoopOffset 60.4", "Set LoopOffset 60.4%"),
        ("Set LoopOffset 20.99%", "Set LoopOffset 20.99%"),
        ("Set LoopOffset 50 %", "Set LoopOffset 50%"),
        (
            "Set LoopOffset 100.5%",
            r#"1:16: the value "100.5" of `Set LoopOffset` is not valid: write a number from 0, up to 100"#,
        ),
        (
            "Set LoopOffset half",
            r#"1:16: `Set LoopOffset` needs a number, not "half": write `Set LoopOffset 50%`"#,
        ),
        ("Set Padding 0", "Set Padding 0"),
        (
            "Set Padding -1",
            r#"1:13: `Set Padding` needs a number, not "-1": write `Set Padding 20`"#,
        ),
        ("Set Margin 60", "Set Margin 60"),
        (
            "Set Margin 60em",
            r#"1:12: the value "60em" of `Set Margin` is not a number: write `Set Margin 20`"#,
        ),
        (r##"Set MarginFill "#674EFF""##, r##"Set MarginFill "#674EFF""##),
        ("Set MarginFill picture.png", r#"Set MarginFill "picture.png""#),
        (
            r##"Set MarginFill "#67""##,
            r##"1:16: "#67" is not a colour: write `Set MarginFill "#674EFF"`"##,
        ),
        (
            r##"Set MarginFill "#GGGGGG""##,
            r##"1:16: "#GGGGGG" is not a colour: write `Set MarginFill "#674EFF"`"##,
        ),
        (
            "Set MarginFill #674EFF",
            r##"1:15: `Set MarginFill` needs a colour in quotes or a file: write `Set MarginFill "#674EFF"`"##,
        ),
        ("Set BorderRadius 8", "Set BorderRadius 8"),
        (
            "Set BorderRadius x",
            r#"1:18: `Set BorderRadius` needs a number, not "x": write `Set BorderRadius 20`"#,
        ),
        (
            "Set WindowBar Colorful Set WindowBar ColorfulRight Set WindowBar Rings Set WindowBar RingsRight",
            "Set WindowBar Colorful | Set WindowBar ColorfulRight | Set WindowBar Rings | Set WindowBar RingsRight",
        ),
        (r#"Set WindowBar """#, r#"Set WindowBar """#),
        (
            "Set WindowBar Colourful",
            r#"1:15: the window bar "Colourful" is not known: did you mean `Colorful`?"#,
        ),
        (
            "Set WindowBar Mac",
            r#"1:15: the window bar "Mac" is not known: use Colorful, ColorfulRight, Rings or RingsRight"#,
        ),
        ("Set WindowBar", "1:14: `Set WindowBar` needs a style: write `Set WindowBar Colorful`"),
        ("Set WindowBarSize 40", "Set WindowBarSize 40"),
        (
            "Set WindowBarSize",
            "1:18: `Set WindowBarSize` needs a number: write `Set WindowBarSize 20`",
        ),
        (
            "Set CursorBlink false Set CursorBlink true",
            "Set CursorBlink false | Set CursorBlink true",
        ),
        (
            "Set CursorBlink yes",
            r#"1:17: `Set CursorBlink` needs `true` or `false`, not "yes": write `Set CursorBlink false`"#,
        ),
        (
            r#"Set CursorBlink "true""#,
            r#"1:17: `Set CursorBlink` needs `true` or `false`, not "true": write `Set CursorBlink false`"#,
        ),
        ("Set Fontsize 5", r#"1:5: the setting "Fontsize" is not known: did you mean `FontSize`?"#),
    ]);
}

#[test]
fn variables() {
    check(&[
        (r#"Set Env NAME "value""#, r#"Env "NAME" "value""#),
        ("Set Env", r#"1:8: `Set Env` needs a name and a value: write `Set Env NAME "value"`"#),
        (r#"Env HELLO "WORLD""#, r#"Env "HELLO" "WORLD""#),
        (r#"Env "A B" c"#, r#"Env "A B" "c""#),
        ("Env HELLO", r#"1:10: `Env` needs a value: write `Env HELLO "value"`"#),
        ("Env", r#"1:4: `Env` needs a name and a value: write `Env NAME "value"`"#),
        ("Env A=B c", r#"1:6: `Env` needs a value, not "=B": write `Env A "value"`"#),
        ("Env PORT 8080", r#"1:10: `Env` needs a value, not "8080": write `Env PORT "value"`"#),
        ("Env A Enter", r#"1:7: `Env` needs a value, not "Enter": write `Env A "value"`"#),
    ]);
}

#[test]
fn names_of_settings() {
    check(&[
        ("Set", r#"1:4: `Set` needs the name of a setting: write `Set Shell "bash"`"#),
        (
            r#"Set "Shell" bash"#,
            r#"1:5: `Set` needs the name of a setting, not "Shell": write `Set Shell "bash"`"#,
        ),
        ("Set Foo Bar", r#"1:5: the setting "Foo" is not known: the settings are …"#),
        ("Set Cols 80", r#"1:5: the setting "Cols" is not known: did you mean `Columns`?"#),
        ("Settle 300ms", "Settle 300ms"),
        ("Settle@10s 1", "Settle@10s 1s"),
        ("Settle", "1:7: `Settle` needs a time: write `Settle 300ms`"),
        ("Settle 0", r#"1:8: the time "0" of `Settle` must be more than 0: write `Settle 300ms`"#),
        ("Settle /x/", r#"1:8: `Settle` needs a time, not "/x/": write `Settle 300ms`"#),
    ]);
}

#[test]
fn texts() {
    check(&[
        (
            r#"Type "double" Type 'sin"gle' Type `back'tick"`"#,
            r#"Type "double" | Type 'sin"gle' | Type `back'tick"`"#,
        ),
        (
            r#"Type@50ms "slow" Type@.2'x' Type @ 1 "y""#,
            r#"Type@50ms "slow" | Type@200ms "x" | Type@1s "y""#,
        ),
        (r#"Type "a" "b" c"#, r#"Type "a b c""#),
        (r#"Type """#, r#"Type """#),
        ("Type o", r#"Type "o""#),
        ("Type hello world", r#"Type "hello world""#),
        ("Type s", r#"Type "s""#),
        ("Type", r#"1:5: `Type` needs a text: write `Type "text"`"#),
        ("Type 5", r#"1:6: `Type` needs a text, not "5": write `Type "text"`"#),
        ("Type Enter", r#"1:6: `Type` needs a text, not "Enter": write `Type "text"`"#),
        (r#"Type "echo" Enter"#, r#"Type "echo" | Enter"#),
        (r#"Type "unterminated"#, r#"1:6: the text has no closing ": a text ends in its line"#),
        ("Type \"NUL \0\"", "1:6: the text contains a NUL: press `Ctrl+@` to type one"),
        (
            r#"Type "say \"hi\" Enter""#,
            r#"1:6: a backslash does not escape a quote: write a text with " as '…' or `…`"#,
        ),
        (r#"Type "a\" Enter"#, r#"Type "a\" | Enter"#),
        (
            r#"Type "ls" Entr"#,
            r#"1:11: "Entr" after a text is neither a command nor in quotes: did you mean `Enter`?"#,
        ),
        (
            r#"Type "ls" enter"#,
            r#"1:11: "enter" after a text is neither a command nor in quotes: did you mean `Enter`?"#,
        ),
        ("Type hello Entry", r#"Type "hello Entry""#),
        (r#"Type@ "x""#, r#"1:7: `Type@` needs a time, not "x": write `Type@500ms`"#),
        (r#"Type@fast "x""#, r#"1:6: `Type@` needs a time, not "fast": write `Type@500ms`"#),
        (r#"Type@5x "x""#, r#"1:7: the unit "x" is not known: times are in ms, s or m"#),
    ]);
}

#[test]
fn keys() {
    check(&[
        ("Enter", "Enter"),
        ("Enter 2", "Enter 2"),
        ("Enter@50ms 3", "Enter@50ms 3"),
        ("Enter 2x", r#"1:7: the value "2x" of `Enter` is not a number: write `Enter 2`"#),
        (
            "Enter 0",
            r#"1:7: the value "0" of `Enter` is not valid: write a whole number from 1 to 10000"#,
        ),
        ("Enter 10000", "Enter 10000"),
        (
            "Enter 10001",
            r#"1:7: the value "10001" of `Enter` is not valid: write a whole number from 1 to 10000"#,
        ),
        (
            "Enter 1.5",
            r#"1:7: the value "1.5" of `Enter` is not valid: write a whole number from 1 to 10000"#,
        ),
        ("Enter@", "1:7: `Enter@` needs a time: write `Enter@500ms`"),
        (
            "Enter 99999999999999999999",
            r#"1:7: the value "99999999999999999999" of `Enter` is not valid: write a whole number from 1 to 10000"#,
        ),
        (
            "Backspace 2 Delete 2 Insert 2 Tab 2 Space 2 Escape 2 Up 2 Down 2 Left 2 Right 2 PageUp 2 PageDown 2 Home 2 End 2",
            "Backspace 2 | Delete 2 | Insert 2 | Tab 2 | Space 2 | Escape 2 | Up 2 | Down 2 | Left 2 | Right 2 | PageUp 2 | PageDown 2 | Home 2 | End 2",
        ),
        ("F1 F24 2", "F1 | F24 2"),
        ("F25", r#"1:1: the command "F25" is not known: the function keys are F1 to F24"#),
        ("F0", r#"1:1: the command "F0" is not known: the function keys are F1 to F24"#),
        ("ScrollUp ScrollDown 3 ScrollUp@100ms 2", "ScrollUp | ScrollDown 3 | ScrollUp@100ms 2"),
        ("ScrollUp x", r#"1:10: the command "x" is not known: the commands are …"#),
    ]);
}

#[test]
fn combinations() {
    check(&[
        ("Ctrl+C", "Ctrl+C"),
        ("Ctrl+C@1s 3", "Ctrl+C@1s 3"),
        ("Ctrl + c", "Ctrl+c"),
        ("Ctrl+Alt+Delete", "Ctrl+Alt+Delete"),
        ("Ctrl+Shift+Alt+C", "Ctrl+Alt+Shift+C"),
        ("Alt+Ctrl+x", "Ctrl+Alt+x"),
        (
            "Alt+. Alt+L Alt+Enter Alt+[ Alt+] Alt+Tab",
            "Alt+. | Alt+L | Alt+Enter | Alt+[ | Alt+] | Alt+Tab",
        ),
        (
            "Shift+Tab Shift+A Shift+Enter Shift+Left Shift+F5",
            "Shift+Tab | Shift+A | Shift+Enter | Shift+Left | Shift+F5",
        ),
        (
            r"Ctrl+@ Ctrl+[ Ctrl+] Ctrl+^ Ctrl+\ Ctrl+- Ctrl+_ Ctrl+/ Ctrl++ Ctrl+Space Ctrl+Backspace",
            r"Ctrl+@ | Ctrl+[ | Ctrl+] | Ctrl+^ | Ctrl+\ | Ctrl+- | Ctrl+_ | Ctrl+/ | Ctrl++ | Ctrl+Space | Ctrl+Backspace",
        ),
        ("Alt+# # comment", "Alt+#"),
        ("Alt+ # comment", "1:5: `Alt+` needs a key: write `Alt+a`"),
        (r#"Alt+"x" Alt+" Alt+é"#, r#"Alt+x | Alt+" | Alt+é"#),
        ("Ctrl+C#comment", "Ctrl+C"),
        ("Ctrl", "1:5: `Ctrl` needs `+` and a key: write `Ctrl+a`"),
        ("Ctrl+", "1:6: `Ctrl+` needs a key: write `Ctrl+a`"),
        ("Ctrl+Ctrl+c", "1:6: `Ctrl` is in the combination twice: write `Ctrl+a`"),
        (
            "Ctrl+Shift+C+Alt",
            r#"1:12: "C+Alt" is more than one key: write modifiers first, then one key: `Ctrl+Shift+C`"#,
        ),
        ("Ctrl+Entr", r#"1:6: the key "Entr" is not known: did you mean `Enter`?"#),
        ("Ctrl+Esc", r#"1:6: the key "Esc" is not known: did you mean `Escape`?"#),
        ("Ctrl+abc", r#"1:6: the key "abc" is not known: a combination ends with …"#),
        (
            "Ctrl+C.",
            r#"1:6: "C." is more than one key: write modifiers first, then one key: `Ctrl+C`"#,
        ),
        ("Ctrl C", r#"1:6: `Ctrl` needs `+` and a key, not "C": write `Ctrl+a`"#),
        ("Shift+ScrollUp", r#"1:7: the key "ScrollUp" is not known: a combination ends with …"#),
    ]);
}

#[test]
fn sleeps() {
    check(&[
        ("Sleep 1", "Sleep 1s"),
        (
            "Sleep 500ms Sleep .5 Sleep 0.5 Sleep 1.5s Sleep 2m Sleep 0 Sleep 5.",
            "Sleep 500ms | Sleep 500ms | Sleep 500ms | Sleep 1500ms | Sleep 120s | Sleep 0s | Sleep 5s",
        ),
        ("Sleep 24m Sleep 86400 Sleep 1440m", "Sleep 1440s | Sleep 86400s | Sleep 86400s"),
        ("Sleep 86401", r#"1:7: the time "86401" is more than 24 hours: write `Sleep 500ms`"#),
        ("Sleep", "1:6: `Sleep` needs a time: write `Sleep 500ms`"),
        ("Sleep Bar", r#"1:7: `Sleep` needs a time, not "Bar": write `Sleep 500ms`"#),
        ("Sleep -1", r#"1:7: `Sleep` needs a time, not "-1": write `Sleep 500ms`"#),
        ("Sleep 1h", r#"1:8: the unit "h" is not known: times are in ms, s or m"#),
        ("Sleep 5sec", r#"1:8: the unit "sec" is not known: times are in ms, s or m"#),
        ("Sleep 1.2.3s", r#"1:7: "1.2.3s" is not a time: write `Sleep 500ms`"#),
        ("Sleep 1 Ctrl+U  Sleep 1", "Sleep 1s | Ctrl+U | Sleep 1s"),
        ("Sleep .5Enter", "Sleep 500ms | Enter"),
        ("Sleep 500 ms", "Sleep 500ms"),
    ]);
}

#[test]
fn waits() {
    check(&[
        ("Wait", "Wait"),
        ("Wait+Line", "Wait"),
        ("Wait+Screen", "Wait+Screen"),
        ("Wait@100ms /foobar/", "Wait@100ms /foobar/"),
        (r"Wait+Screen@5s /a\/b\\/", r"Wait+Screen@5s /a\/b\\/"),
        ("Wait //", "Wait //"),
        ("Wait /a/ Enter", "Wait /a/ | Enter"),
        (
            r#"Wait "foo""#,
            r#"1:6: `Wait` needs a pattern between slashes, not "foo": write `Wait /foo/`"#,
        ),
        (
            r#"Wait "a/b""#,
            r#"1:6: `Wait` needs a pattern between slashes, not "a/b": write `Wait /text/`"#,
        ),
        ("Wait /foo", r"1:6: the pattern has no closing /: write a / inside a pattern as \/"),
        (
            "Wait /foo/i",
            r#"1:11: "i" after a pattern is not a command: write flags inside the pattern, such as `/(?i)text/`"#,
        ),
        ("Wait /a(b/", r#"1:8: the pattern "a(b" is wrong at byte 1: unclosed group"#),
        ("Wait /é(b/", r#"1:8: the pattern "é(b" is wrong at byte 2: unclosed group"#),
        (
            r"Wait /\p{Foo}/",
            r#"1:7: the pattern "\\p{Foo}" is wrong at byte 0: Unicode property not found"#,
        ),
        (
            "Wait /(?=a)/",
            r#"1:7: the pattern "(?=a)" is wrong at byte 0: look-ahead and look-behind are not supported, because matching is linear in time: match the text around it too, and use a group for the part you want"#,
        ),
        (
            "Wait /(?:a{1000}){1000}/",
            "1:7: the pattern is too large once compiled (1048576 bytes are allowed): make its counted repetitions smaller",
        ),
        ("Wait@0 /x/", r#"1:6: the time "0" of `Wait@` must be more than 0: write `Wait@5s`"#),
        ("Wait@ /x/", r#"1:7: `Wait@` needs a time, not "/x/": write `Wait@5s`"#),
        (
            "Wait+Foo /x/",
            r#"1:6: `Wait+` needs `Line` or `Screen`, not "Foo": write `Wait+Screen /text/`"#,
        ),
        ("Wait+", "1:6: `Wait+` needs `Line` or `Screen`: write `Wait+Screen /text/`"),
        (
            "Wait+screen",
            r#"1:6: `Wait+` needs `Line` or `Screen`, not "screen": write `Wait+Screen /text/`"#,
        ),
    ]);
}

#[test]
fn recordings() {
    check(&[
        ("Hide Show", "Hide | Show"),
        (
            "Hide 3",
            r#"1:6: "3" is not a command: a number belongs after a command, such as `Enter 2`"#,
        ),
        ("Screenshot a.png", r#"Screenshot "a.png""#),
        ("Screenshot a.svg Screenshot a.txt", r#"Screenshot "a.svg" | Screenshot "a.txt""#),
        ("Screenshot", "1:11: `Screenshot` needs a file: write `Screenshot screen.png`"),
        (
            "Screenshot a.jpg",
            r#"1:12: the format of the screenshot "a.jpg" is not known: use .png, .svg or .txt"#,
        ),
        (r#"Copy "text" Paste"#, r#"Copy "text" | Paste"#),
        ("Copy", r#"1:5: `Copy` needs a text: write `Copy "text"`"#),
        (
            r#"Paste "x""#,
            r#"1:7: "x" is not a command: text belongs after a command, such as `Type "text"`"#,
        ),
    ]);
}

#[test]
fn sources() {
    check(&[
        ("Source other.tape", r#"Source "other.tape""#),
        (r#"Source "other.tape""#, r#"Source "other.tape""#),
        ("Source", "1:7: `Source` needs a tape: write `Source other.tape`"),
        (
            "Source other.vhs",
            r#"1:8: the source "other.vhs" is not a .tape file: write `Source other.tape`"#,
        ),
        (
            "Source gone.tape",
            r#"1:8: the source "gone.tape" cannot be read: entity not found: correct the path"#,
        ),
        (
            "Source empty.tape",
            r#"empty.tape:1:1: the tape has no command: write one, such as `Type "ls" Enter`"#,
        ),
        (
            "Source nested.tape",
            r#"nested.tape:2:8: the source "other.tape" is inside a sourced tape: source it from the main tape"#,
        ),
        (
            "Source wrong.tape Foo",
            r#"1:19: the command "Foo" is not known: the commands are … && wrong.tape:1:1: the command "Foo" is not known: the commands are … && wrong.tape:2:9: the value "0" of `Enter` is not valid: write a whole number from 1 to 10000"#,
        ),
    ]);
}

#[test]
fn expectations() {
    check(&[
        ("Expect /Main menu/", "Expect /Main menu/"),
        ("Expect@5s /x/", "Expect@5s /x/"),
        (
            "Expect Gone /x/ Expect Selected /x/ Expect Title /x/ Expect Frame /x/ Expect Exit 0 Expect@10s Exit 255",
            "Expect Gone /x/ | Expect Selected /x/ | Expect Title /x/ | Expect Frame /x/ | Expect Exit 0 | Expect@10s Exit 255",
        ),
        ("Expect", "1:7: `Expect` needs a pattern between slashes: write `Expect /text/`"),
        ("Expect //", "1:8: an empty pattern matches every screen: write `Expect /text/`"),
        (
            r#"Expect "x""#,
            r#"1:8: `Expect` needs a pattern between slashes, not "x": write `Expect /x/`"#,
        ),
        (
            "Expect x",
            r#"1:8: the expectation "x" is not known: write `Expect /text/`, or Gone, Selected, Title, Frame or Exit"#,
        ),
        (
            "Expect Gone",
            "1:12: `Expect Gone` needs a pattern between slashes: write `Expect Gone /text/`",
        ),
        (
            r#"Expect Gone "x""#,
            r#"1:13: `Expect Gone` needs a pattern between slashes, not "x": write `Expect Gone /x/`"#,
        ),
        ("Expect gone /x/", r#"1:8: the expectation "gone" is not known: did you mean `Gone`?"#),
        (
            "Expect+Gone /x/",
            "1:7: `Expect` has no `+`: write `Expect Gone /text/` or `Expect /text/`",
        ),
        (
            "Expect Gone@5s /x/",
            r#"1:12: `Expect Gone` needs a pattern between slashes, not "@5s": write `Expect Gone /text/`"#,
        ),
        (
            "Expect@0 /x/",
            r#"1:8: the time "0" of `Expect@` must be more than 0: write `Expect@5s`"#,
        ),
        ("Expect Exit", "1:12: `Expect Exit` needs a number: write `Expect Exit 0`"),
        (
            "Expect Exit 256",
            r#"1:13: the value "256" of `Expect Exit` is not valid: write a whole number from 0 to 255"#,
        ),
        (
            "Expect Exit -1",
            r#"1:13: `Expect Exit` needs a number, not "-1": write `Expect Exit 0`"#,
        ),
        ("Expect Enter", r#"1:8: `Expect` needs a pattern, not "Enter": write `Expect /text/`"#),
        ("Expect /x/ Gone", r#"1:12: the command "Gone" is not known: write `Expect Gone /…/`"#),
        (
            "Expect /x/i",
            r#"1:11: "i" after a pattern is not a command: write flags inside the pattern, such as `/(?i)text/`"#,
        ),
    ]);
}

#[test]
fn settling_and_commands() {
    check(&[
        (r#"Run "make""#, r#"Run "make""#),
        (r#"Run! "make""#, r#"Run! "make""#),
        (r#"Run@60s "make""#, r#"Run@60s "make""#),
        (r#"Run!@60s 'echo "a"'"#, r#"Run!@60s 'echo "a"'"#),
        ("Run make test", r#"Run "make test""#),
        ("Run", r#"1:4: `Run` needs a text: write `Run "make"`"#),
        ("Run! Enter", r#"1:6: `Run` needs a text, not "Enter": write `Run "make"`"#),
    ]);
}

#[test]
fn golden_screens() {
    check(&[
        (r#"Screen "menu""#, r#"Screen "menu""#),
        (r"Screen menu Mask /\d\d:\d\d/ Mask /x/", r#"Screen "menu" Mask /\d\d:\d\d/ Mask /x/"#),
        ("Screen@5s menu", r#"Screen@5s "menu""#),
        ("Screen", r#"1:7: `Screen` needs a name: write `Screen "menu"`"#),
        (
            r#"Screen "main menu""#,
            r#"1:8: the name "main menu" of the screen is not a file name: write `Screen "main-menu"`"#,
        ),
        (
            r#"Screen "../menu""#,
            r#"1:8: the name "../menu" of the screen is not a file name: write `Screen "menu"`"#,
        ),
        (
            r#"Screen "…""#,
            r#"1:8: the name "…" of the screen is not a file name: write `Screen "menu"`"#,
        ),
        (
            r#"Screen "" "#,
            r#"1:8: the name "" of the screen is not a file name: write `Screen "menu"`"#,
        ),
        (
            "Screen menu Mask",
            r#"1:17: `Mask` needs a pattern between slashes: write `Screen "menu" Mask /\d+/`"#,
        ),
        (
            r#"Screen menu Mask "x""#,
            r#"1:18: `Mask` needs a pattern between slashes, not "x": write `Mask /x/`"#,
        ),
        (
            "Screen menu mask /x/",
            r#"1:8: the value "menu mask" of `Screen` has no quotes: write `Screen "menu"`"#,
        ),
        ("Mask /x/", r#"1:1: the command "Mask" is not known: write `Screen "…" Mask /…/`"#),
    ]);
}

#[test]
fn clicks_and_sizes() {
    check(&[
        ("Click /OK/", "Click /OK/"),
        (r"Click@5s /\[ OK \]/", r"Click@5s /\[ OK \]/"),
        ("Click", "1:6: `Click` needs a pattern between slashes: write `Click /OK/`"),
        (
            r#"Click "OK""#,
            r#"1:7: `Click` needs a pattern between slashes, not "OK": write `Click /OK/`"#,
        ),
        ("Resize 100 30", "Resize 100 30"),
        ("Resize 100", "1:11: `Resize` needs a number: write `Resize 100 30`"),
        (
            "Resize 0 30",
            r#"1:8: the value "0" of `Resize` is not valid: write a whole number from 1 to 1000"#,
        ),
        ("Resize 1000 500", "Resize 1000 500"),
        (
            "Resize 1001 30",
            r#"1:8: the value "1001" of `Resize` is not valid: write a whole number from 1 to 1000"#,
        ),
        (
            "Resize 80x24",
            r#"1:8: the value "80x24" of `Resize` is not a number: write `Resize 100 30`"#,
        ),
    ]);
}

#[test]
fn unknown_commands() {
    check(&[
        ("Expct /x/", r#"1:1: the command "Expct" is not known: did you mean `Expect`?"#),
        ("enter", r#"1:1: the command "enter" is not known: did you mean `Enter`?"#),
        ("Foo", r#"1:1: the command "Foo" is not known: the commands are …"#),
        (r#"Tyep "Enter" Enter"#, r#"1:1: the command "Tyep" is not known: did you mean `Type`?"#),
        ("Press enter", r#"1:1: the command "Press" is not known: write `Enter` or `Ctrl+C`"#),
        ("Return", r#"1:1: the command "Return" is not known: write `Enter`"#),
        ("Exit 0", r#"1:1: the command "Exit" is not known: write `Expect Exit 0`"#),
        ("Width 100", r#"1:1: the command "Width" is not known: write `Set Width …`"#),
        (
            r#""text""#,
            r#"1:1: "text" is not a command: text belongs after a command, such as `Type "text"`"#,
        ),
        (
            "/x/",
            r#"1:1: "/x/" is not a command: a pattern belongs after a command, such as `Expect /text/`"#,
        ),
        ("5", r#"1:1: "5" is not a command: a number belongs after a command, such as `Enter 2`"#),
        (
            "@5s",
            r#"1:1: "@5s" is not a command: a time belongs directly after a command, such as `Type@50ms "text"`"#,
        ),
        ("+C", r#"1:1: "+C" is not a command: `+` belongs after `Ctrl`, `Alt`, `Shift` or `Wait`"#),
        (
            r"\",
            r#"1:1: "\" is not a command: texts have no escapes: write a text with " as '…' or `…`"#,
        ),
        ("é", r#"1:1: "é" is not a command: write a command, such as `Type "text"`"#),
        ("= Foo", r#"1:1: "=" is not a command: write a command, such as `Type "text"`"#),
        (
            "Bar Backspace@",
            r#"1:1: the command "Bar" is not known: the commands are … && 1:15: `Backspace@` needs a time: write `Backspace@500ms`"#,
        ),
        (
            r#"type "x" # not Enter"#,
            r#"1:1: the command "type" is not known: did you mean `Type`?"#,
        ),
        (
            r#"Foo "unterminated Enter"#,
            r#"1:1: the command "Foo" is not known: the commands are …"#,
        ),
        (
            "# only a comment",
            r#"1:1: the tape has no command: write one, such as `Type "ls" Enter`"#,
        ),
    ]);
}
