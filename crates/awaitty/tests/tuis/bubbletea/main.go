// A Bubble Tea menu on the alternate screen. Writes the chosen entry to the file of its argument.
// Bubble Tea takes one read for one key, and drops unknown keys.
package main

import (
	"fmt"
	"os"

	tea "github.com/charmbracelet/bubbletea"
)

var entries = []string{"espresso", "latte", "mocha", "ristretto", "tea"}

type model struct {
	cursor int
	chosen string
}

func (m model) Init() tea.Cmd { return nil }

func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	key, isKey := msg.(tea.KeyMsg)
	if !isKey {
		return m, nil
	}
	switch key.String() {
	case "esc", "ctrl+c":
		return m, tea.Quit
	case "up", "k":
		if m.cursor > 0 {
			m.cursor--
		}
	case "down", "j":
		if m.cursor < len(entries)-1 {
			m.cursor++
		}
	case "enter":
		m.chosen = entries[m.cursor]
		return m, tea.Quit
	}
	return m, nil
}

func (m model) View() string {
	text := "What to drink?\n\n"
	for i, entry := range entries {
		if i == m.cursor {
			text += "\x1b[7m> " + entry + "\x1b[0m\n"
		} else {
			text += "  " + entry + "\n"
		}
	}
	return text
}

func main() {
	end, err := tea.NewProgram(model{}, tea.WithAltScreen()).StartReturningModel()
	if err == nil {
		err = os.WriteFile(os.Args[1], []byte(end.(model).chosen), 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
