// Takes a token for this tab. It is kept in the tab's session storage and sent to this kubelet only.
import { useState } from 'preact/hooks';
import { usePage } from '../data/use-page.ts';
import { Dialog } from '../parts/dialog.tsx';

export function TokenDialog({ onClose }: { readonly onClose: () => void }) {
  const { announce, page } = usePage();
  const [token, setToken] = useState('');
  return (
    <Dialog title="Enter a token" onClose={onClose}>
      <form
        class="token-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (token.trim() === '') return;
          page.setToken(token.trim());
          announce('The token is kept until this tab is closed');
          onClose();
        }}
      >
        <p>
          On the node itself the token is in the file <code>dashboard-token</code> of the kubelet’s root
          directory, by default <code>/var/lib/kubelet/dashboard-token</code>, readable for root. On other
          addresses enter a bearer token that the cluster accepts.
        </p>
        <label>
          Token
          <input
            type="password"
            autocomplete="off"
            value={token}
            onInput={(event) => {
              setToken(event.currentTarget.value);
            }}
          />
        </label>
        <button type="submit" class="button button-primary">
          Use for this tab
        </button>
      </form>
    </Dialog>
  );
}
