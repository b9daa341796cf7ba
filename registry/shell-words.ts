/** Quotes a word for POSIX shells and zsh, where a leading = expands to the path of a program. */
export const quote = (text: string): string => (/^(?!=)[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** The last argument of a command, quoted; `--` keeps a leading dash from being read as an option. */
export const operand = (text: string): string => `${text.startsWith('-') ? '-- ' : ''}${quote(text)}`;
