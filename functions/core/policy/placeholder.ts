/** Stands in a policy file for the address that the gate is called by. */
export const placeholder = '{base_url}';
