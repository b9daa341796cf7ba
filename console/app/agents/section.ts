export const agents = { path: 'agents', title: 'Agents' };
