export const approvals = { path: 'approvals', title: 'Approvals' };
