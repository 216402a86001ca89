// Questions of @inquirer/prompts: a menu, check boxes, a text. Writes the answers to the file of its argument.
import {writeFileSync} from "node:fs";
import {checkbox, input, select} from "@inquirer/prompts";

const size = await select({message: "Size?", choices: ["small", "medium", "large", "huge"]});
const toppings = await checkbox({message: "Toppings?", choices: ["basil", "olives", "capers", "onions"]});
const name = await input({message: "Name?"});
writeFileSync(process.argv[2], JSON.stringify({size, toppings, name}));
console.log("done");
