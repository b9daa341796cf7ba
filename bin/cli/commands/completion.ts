import { type CommandUnknownOpts, createArgument } from '@commander-js/extra-typings';
import { printLine } from '../terminal.ts';

/** The words that may follow each command: its subcommands and options, by the path of the command. */
function listWords(command: CommandUnknownOpts, path: string, inherited: readonly string[]): [path: string, words: string][] {
  const own = command.options.flatMap(({ short, long, hidden }) => (hidden ? [] : [short, long])).filter((one) => one !== undefined);
  const options = [...own, ...inherited];
  const names = command.commands.map((one) => one.name());
  const below = command.commands.flatMap((one) => listWords(one, `${path} ${one.name()}`, inherited.length > 0 ? inherited : options));
  return [[path, [...names, ...options, '--help'].join(' ')], ...below];
}

/** In zsh, `compgen` and `complete` are those of bashcompinit. */
const bash = (rows: [string, string][]): string => `_intent_gate() {
  local at= words= word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$at $word" in
      ${rows.map(([path]) => `'${path}'`).join('|')}) at="$at $word" ;;
    esac
  done
  case "$at" in
${rows.map(([path, words]) => `    '${path}') words='${words}' ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _intent_gate intent-gate`;

const scripts = {
  bash,
  zsh: (rows: [string, string][]) => `autoload -U +X bashcompinit && bashcompinit\n${bash(rows)}`,
  fish: (rows: [string, string][]) => `function __intent_gate
  set -l at ''
  for word in (commandline -opc)[2..]
    switch "$at $word"
      case ${rows.map(([path]) => `'${path}'`).join(' ')}
        set at "$at $word"
    end
  end
  switch "$at"
${rows.map(([path, words]) => `    case '${path}'\n      printf '%s\\n' ${words}`).join('\n')}
  end
end
complete -c intent-gate -a '(__intent_gate)'`,
};

export function addCompletion(program: CommandUnknownOpts): void {
  program
    .command('completion')
    .addArgument(createArgument('<shell>').choices(Object.keys(scripts) as (keyof typeof scripts)[]))
    .description(
      'Print a script that completes commands and options: add "source <(intent-gate completion bash)" to the file of your shell',
    )
    .action((shell) => printLine(scripts[shell](listWords(program, '', []))));
}
