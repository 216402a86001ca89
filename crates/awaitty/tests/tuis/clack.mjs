// Questions of @clack/prompts: a menu, a text, a confirmation. Writes the answers to the file of its argument.
import {writeFileSync} from "node:fs";
import {confirm, intro, outro, select, text} from "@clack/prompts";

intro("clack");
const options = ["vanilla", "vue", "react", "svelte"].map((value) => ({value}));
const framework = await select({message: "Framework?", options});
const name = await text({message: "Name?", placeholder: "my-app"});
const sure = await confirm({message: "Install now?"});
writeFileSync(process.argv[2], JSON.stringify({framework, name, sure}));
outro("done");
