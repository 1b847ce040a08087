# case: delayed scaling
import transformer_engine.pytorch as te
from transformer_engine.common import recipe
scaling = recipe.DelayedScaling(margin=0, fp8_format=recipe.Format.E4M3)  # finds warning
with te.fp8_autocast(fp8_recipe=scaling):
    loss = model(x).mean()
loss.backward()
# case: by Accelerate
from accelerate import Accelerator
from accelerate.utils import TERecipeKwargs
kwargs = [TERecipeKwargs(fp8_format="E4M3")]  # finds warning
accelerator = Accelerator(mixed_precision="fp8", kwargs_handlers=kwargs)
accelerator.backward(loss)
# case: hybrid, blocks, and no training
import transformer_engine.pytorch as te
from transformer_engine.common.recipe import DelayedScaling, Float8BlockScaling, Format
scaling = DelayedScaling(fp8_format=Format.HYBRID)
blocks = Float8BlockScaling(fp8_format=Format.E4M3)
loss.backward()
# case: inference
import transformer_engine.pytorch as te
from transformer_engine.common.recipe import DelayedScaling, Format
with te.fp8_autocast(fp8_recipe=DelayedScaling(fp8_format=Format.E4M3)):
    y = model(x)
