// An Ink app: `ink.mjs list FILE` is a menu, `ink.mjs box FILE` a text box. It writes the answer to FILE.
// Ink reports one read as one input, including Enter, and updates its state when it renders.
import {writeFileSync} from "node:fs";
import {createElement, useState} from "react";
import {Box, Text, render, useApp, useInput} from "ink";
import TextInput from "ink-text-input";

const [kind, file] = process.argv.slice(2);
const ENTRIES = ["apple", "banana", "cherry", "damson", "elderberry"];

function useAnswer() {
  const {exit} = useApp();
  return (answer) => {
    writeFileSync(file, answer);
    exit();
  };
}

function List() {
  const answer = useAnswer();
  const [index, setIndex] = useState(0);
  useInput((input, key) => {
    if (key.downArrow || input === "j") setIndex(Math.min(index + 1, ENTRIES.length - 1));
    if (key.upArrow || input === "k") setIndex(Math.max(index - 1, 0));
    if (key.escape) answer("escaped");
    if (key.return) answer(ENTRIES[index]);
  });
  const row = (entry, at) => createElement(Text, {key: entry, inverse: at === index}, `${at === index ? "❯" : " "} ${entry}`);
  return createElement(Box, {flexDirection: "column"}, createElement(Text, null, "Which fruit?"), ENTRIES.map(row));
}

function TextBox() {
  const answer = useAnswer();
  const [value, onChange] = useState("");
  const box = createElement(TextInput, {value, onChange, onSubmit: answer});
  return createElement(Box, {borderStyle: "round"}, createElement(Text, null, "Key: "), box);
}

render(createElement(kind === "list" ? List : TextBox));
