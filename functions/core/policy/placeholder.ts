/** Placeholder in policy files for the address of the gate. */
export const placeholder = '{base_url}';
